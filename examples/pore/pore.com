(*
  Messages to and from another process, through memory that both have mapped.

  The driver listens at a socket, hands the rings to who connects, and asks; the other side answers
  each message turned round. Without arguments the other side is a component of this program; with
  `-- PATH` it is whoever connects to PATH, such as peer.c.
*)
INTERFACE Exchange;
  IN Open(kind, argument: TEXT) ( OUT Failed(reason: TEXT) | OUT Opened { IN Ask(text: TEXT) (
      OUT Answer(text: TEXT) | OUT Gone(reason: TEXT) ) } IN Close )
END Exchange;

INTERFACE Answering;
  IN Answer(path: TEXT) OUT Answered(count: INTEGER)
END Answering;

COMPONENT Asker OFFERS Exchange REQUIRES Pore;
  IMPLEMENTATION Exchange;
    VARIABLE
      kind, text, reason: TEXT;
      n, m: INTEGER;
      isGone: BOOLEAN;
  BEGIN {EXCLUSIVE}
    ?Open(kind, text);
    Pore!Open(kind, text);
    IF Pore?Failed THEN
      Pore?Failed(reason);
      !Failed(reason)
    ELSE
      Pore?Opened(n);
      !Opened;
      isGone := FALSE;
      reason := "";
      WHILE ~?Close DO
        ?Ask(text);
        IF ~isGone THEN
          Pore!Write(text);
          Pore?Accepted(n);
          Pore!Ring;
          Pore!Arm(1, 0);
          IF Pore?Event THEN
            Pore?Event(n, m);
            Pore!Read(n);
            Pore?Data(text)
          ELSE
            Pore?Trouble(reason);
            isGone := TRUE
          END
        END;
        IF isGone THEN
          !Gone(reason)
        ELSE
          !Answer(text)
        END
      END;
      ?Close;
      Pore!Close
    END
  END Exchange;
END Asker;

COMPONENT Answerer OFFERS Answering REQUIRES Pore;
  IMPLEMENTATION Answering;
    VARIABLE
      path, text, turned: TEXT;
      n, m, i, count: INTEGER;
      isOver: BOOLEAN;
  BEGIN {EXCLUSIVE}
    ?Answer(path);
    count := 0;
    isOver := FALSE;
    Pore!Open("memfd", path);
    Pore?Opened(n);
    REPEAT
      Pore!Arm(1, 0);
      IF Pore?Event THEN
        Pore?Event(n, m);
        Pore!Read(n);
        Pore?Data(text);
        NEW(turned, n);
        FOR i := 0 TO n - 1 DO
          turned[i] := text[n - 1 - i]
        END;
        Pore!Write(turned);
        Pore?Accepted(n);
        Pore!Ring;
        INC(count)
      ELSE
        Pore?Trouble(text);
        isOver := TRUE
      END
    UNTIL isOver;
    Pore!Close;
    !Answered(count)
  END Answering;
END Answerer;

COMPONENT Main REQUIRES Pore, Arguments;
  CONSTANT Questions = 5;
  VARIABLE
    asker: Asker;
    answerer: Answerer;
    path, text: TEXT;
    i, n: INTEGER;
    isAlone: BOOLEAN;

  PROCEDURE Joined(first, second: TEXT): TEXT;
    VARIABLE
      both: TEXT;
      i: INTEGER;
  BEGIN
    NEW(both, LENGTH(first) + LENGTH(second));
    FOR i := 0 TO LENGTH(first) - 1 DO
      both[i] := first[i]
    END;
    FOR i := 0 TO LENGTH(second) - 1 DO
      both[LENGTH(first) + i] := second[i]
    END;
    RETURN both
  END Joined;
BEGIN
  Arguments!Get(1);
  Arguments?Argument(path);
  isAlone := path = "";
  IF isAlone THEN
    path := "exchange"
  END;
  NEW(asker);
  CONNECT(Pore(asker), Pore);
  asker!Open("memfd-listen", Joined("messages 4096 ", path));
  IF isAlone THEN
    NEW(answerer);
    CONNECT(Pore(answerer), Pore);
    answerer!Answer(path)
  END;
  IF asker?Failed THEN
    asker?Failed(text);
    WRITE(text);
    WRITELINE
  ELSE
    asker?Opened;
    FOR i := 1 TO Questions DO
      asker!Ask(Joined("message ", TEXT(i)));
      IF asker?Answer THEN
        asker?Answer(text)
      ELSE
        asker?Gone(text)
      END;
      WRITE(text);
      WRITELINE
    END;
    asker!Close
  END;
  IF isAlone THEN
    answerer?Answered(n)
  END
END Main;
