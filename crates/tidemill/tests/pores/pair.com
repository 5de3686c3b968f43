(* Two components at the two ends of a pore: overfilling, reading nothing, memory, what happens
   when one end faults, handing over, reading what comes next. *)
INTERFACE Ends;
  IN Begin(kind, argument: TEXT) OUT Begun { IN Step(n: INTEGER) OUT Stepped(text: TEXT) }
END Ends;

COMPONENT End OFFERS Ends REQUIRES Pore;
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

  IMPLEMENTATION Ends;
    VARIABLE
      kind, argument, text, data: TEXT;
      n, a, b, i: INTEGER;
  BEGIN {EXCLUSIVE}
    ?Begin(kind, argument);
    Pore!Open(kind, argument);
    !Begun;
    IF Pore?Failed THEN
      Pore?Failed(text)
    ELSE
      Pore?Opened(a);
      text := Joined("open ", TEXT(a))
    END;
    WHILE ?Step DO
      ?Step(n);
      IF n = 1 THEN
        NEW(data, 100);
        FOR i := 0 TO 99 DO
          data[i] := CHARACTER(48 + i MOD 10)
        END;
        Pore!Write(data);
        Pore?Accepted(a);
        Pore!Write(data);
        Pore?Accepted(b);
        text := Joined(Joined("accepted ", TEXT(a)), Joined(" and ", TEXT(b)));
        Pore!Ring
      ELSIF n = 2 THEN
        Pore!Read(10);
        Pore?Data(data);
        text := Joined("read ", data)
      ELSIF n = 3 THEN
        Pore!Arm(1, 0);
        IF Pore?Event THEN
          Pore?Event(a, b);
          text := Joined(Joined("event ", TEXT(a)), Joined(" ", TEXT(b)))
        ELSE
          Pore?Trouble(text)
        END
      ELSIF n = 4 THEN
        Pore!Load(1000000000, 8);
        Pore?Loaded(a);
        text := "never"
      ELSIF n = 5 THEN
        Pore!Load(0, 4);
        Pore?Loaded(a);
        Pore!Get(0, 4);
        Pore?Data(data);
        text := Joined(data, Joined(" ", TEXT(a)))
      ELSIF n = 6 THEN
        Pore!Store(192, 4, 123456789);
        Pore!Ring;
        text := "hostile"
      ELSIF n = 7 THEN
        Pore!Read(1000);
        Pore?Data(data);
        text := Joined("read ", TEXT(LENGTH(data)))
      ELSIF n = 8 THEN
        Pore!HandOver;
        Pore?Handed(a);
        text := TEXT(a)
      ELSIF n = 9 THEN
        Pore!Avail;
        Pore?Available(a, b);
        text := Joined(TEXT(a), Joined(" ", TEXT(b)))
      ELSIF n >= 10 THEN
        IF n = 10 THEN
          Pore!Next(10, 0)
        ELSE
          Pore!Next(10, 128)
        END;
        IF Pore?Came THEN
          Pore?Came(data, a);
          text := Joined(Joined("came ", data), Joined(" until ", TEXT(a)))
        ELSE
          Pore?Trouble(text)
        END
      END;
      !Stepped(text)
    END
  END Ends;
END End;

COMPONENT Taker OFFERS Ends REQUIRES Pore;
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

  IMPLEMENTATION Ends;
    VARIABLE
      kind, text: TEXT;
      n: INTEGER;
  BEGIN {EXCLUSIVE}
    ?Begin(kind, text);
    Pore!Take(INTEGER(text));
    !Begun;
    IF Pore?Opened THEN
      Pore?Opened(n);
      WHILE ?Step DO
        ?Step(n);
        Pore!Read(n);
        Pore?Data(text);
        !Stepped(Joined("took ", text))
      END
    ELSE
      Pore?Failed(text);
      WHILE ?Step DO
        ?Step(n);
        !Stepped(text)
      END
    END
  END Ends;
END Taker;

COMPONENT Main REQUIRES Pore;
  VARIABLE
    one, two: End;
    taker: Taker;
    id: TEXT;

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

  PROCEDURE Pair(path: TEXT);
  BEGIN
    NEW(one);
    CONNECT(Pore(one), Pore);
    NEW(two);
    CONNECT(Pore(two), Pore);
    one!Begin("memfd-listen", Joined("bytes 128 ", path));
    one?Begun;
    two!Begin("memfd", path);
    two?Begun
  END Pair;

  PROCEDURE One(n: INTEGER);
    VARIABLE text: TEXT;
  BEGIN
    one!Step(n);
    one?Stepped(text);
    WRITE("one: ");
    WRITE(text);
    WRITELINE
  END One;

  PROCEDURE Two(n: INTEGER);
    VARIABLE text: TEXT;
  BEGIN
    two!Step(n);
    two?Stepped(text);
    WRITE("two: ");
    WRITE(text);
    WRITELINE
  END Two;

  PROCEDURE Taken(id: TEXT);
    VARIABLE text: TEXT;
  BEGIN
    NEW(taker);
    CONNECT(Pore(taker), Pore);
    taker!Begin("", id);
    taker?Begun;
    taker!Step(5);
    taker?Stepped(text);
    WRITE(text);
    WRITELINE
  END Taken;
BEGIN
  Pair("a");
  One(0);
  Two(0);
  Two(2);
  One(1);
  Two(3);
  Two(2);
  Two(7);
  Two(7);
  One(9);
  Two(5);
  one!Step(1);
  one?Stepped(id);
  two!Step(8);
  two?Stepped(id);
  Taken("12345");
  Taken(id);
  Pair("b");
  One(0);
  Two(6);
  One(3);
  Pair("c");
  One(0);
  two!Step(4);
  One(3);
  Pair("d");
  One(0);
  Two(0);
  DELETE(two);
  One(3);
  Pair("e");
  One(0);
  Two(0);
  One(1);
  Two(10);
  Two(7);
  One(11);
  Two(1);
  One(10);
  DELETE(two);
  One(10);
  One(7);
  One(10)
END Main;
