(*
  Many to many, Savina's "big": every component pings others that chance chooses, and answers
  whoever pings it. Every ping is served by a process of its own.
*)
INTERFACE Ping;
  IN Ping(n: INTEGER) OUT Pong(n: INTEGER)
END Ping;

INTERFACE Control;
  IN Start(pings: INTEGER) OUT Sent(pings: INTEGER)
END Control;

COMPONENT Member OFFERS Ping, Control REQUIRES Ping[1..*];
  IMPLEMENTATION Ping;
    VARIABLE n: INTEGER;
    BEGIN ?Ping(n); !Pong(n + 1)
  END Ping;

  IMPLEMENTATION Control;
    VARIABLE pings, sent, i, to, n: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Start(pings); sent := 0;
      FOR i := 1 TO pings DO
        to := RANDOM(1, COUNT(Ping));
        Ping[to]!Ping(i); Ping[to]?Pong(n);
        IF n = i + 1 THEN INC(sent) END
      END;
      !Sent(sent)
  END Control;
END Member;

COMPONENT Big REQUIRES Arguments;
  VARIABLE member[number: INTEGER]: Member; members, pings, i, j, n, sum: INTEGER;

  PROCEDURE Argument(number, usual: INTEGER): INTEGER;
    VARIABLE text: TEXT;
    BEGIN
      Arguments!Get(number); Arguments?Argument(text);
      IF text = "" THEN RETURN usual END;
      RETURN INTEGER(text)
  END Argument;

  BEGIN
    members := Argument(1, 20); pings := Argument(2, 50);
    FOR i := 1 TO members DO NEW(member[i]) END;
    FOR i := 1 TO members DO
      FOR j := 1 TO members DO CONNECT(Ping[j](member[i]), Ping(member[j])) END
    END;
    FOR i := 1 TO members DO Control(member[i])!Start(pings) END;
    sum := 0;
    FOR i := 1 TO members DO Control(member[i])?Sent(n); sum := sum + n END;
    WRITE(sum); WRITE(" pings answered"); WRITELINE
END Big;
