(*
  A token goes round a ring of components.

  Each node has one server process, which receives the token from the node before and passes it on
  through the interface that it requires. One of the nodes counts the rounds.
*)
INTERFACE Token;
  { IN Pass(hops: INTEGER) } IN Stop
END Token;

INTERFACE Control;
  IN Start(rounds: INTEGER) OUT Done(hops: INTEGER)
END Control;

COMPONENT Node OFFERS Token REQUIRES Token;
  IMPLEMENTATION Token;
    VARIABLE hops: INTEGER;
    BEGIN {EXCLUSIVE}
      WHILE ?Pass DO ?Pass(hops); Token!Pass(hops + 1) END;
      ?Stop; Token!Stop
  END Token;
END Node;

COMPONENT First OFFERS Token, Control REQUIRES Token;
  VARIABLE left, total: INTEGER; finished: BOOLEAN;

  IMPLEMENTATION Control;
    VARIABLE rounds: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Start(rounds); left := rounds; Token!Pass(1); AWAIT(finished); !Done(total)
  END Control;

  IMPLEMENTATION Token;
    VARIABLE hops: INTEGER;
    BEGIN
      WHILE ?Pass DO {EXCLUSIVE}
        ?Pass(hops); DEC(left);
        IF left > 0 THEN Token!Pass(hops + 1) ELSE total := hops; Token!Stop END
      END;
      ?Stop;
      BEGIN {EXCLUSIVE} finished := TRUE END
  END Token;
END First;

COMPONENT TokenRing REQUIRES Arguments;
  VARIABLE first: First; node[number: INTEGER]: Node; nodes, rounds, hops, i: INTEGER;

  PROCEDURE Argument(number, usual: INTEGER): INTEGER;
    VARIABLE text: TEXT;
    BEGIN
      Arguments!Get(number); Arguments?Argument(text);
      IF text = "" THEN RETURN usual END;
      RETURN INTEGER(text)
  END Argument;

  BEGIN
    nodes := Argument(1, 100); rounds := Argument(2, 100);
    ASSERT(nodes >= 2); ASSERT(rounds >= 1);
    NEW(first);
    FOR i := 2 TO nodes DO NEW(node[i]) END;
    CONNECT(Token(first), Token(node[2]));
    FOR i := 2 TO nodes - 1 DO CONNECT(Token(node[i]), Token(node[i + 1])) END;
    CONNECT(Token(node[nodes]), Token(first));
    Control(first)!Start(rounds); Control(first)?Done(hops);
    WRITE(hops); WRITE(" hops"); WRITELINE
END TokenRing;
