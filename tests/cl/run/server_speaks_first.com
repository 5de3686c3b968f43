(* A communication can open by receiving, if the protocol begins with an answer. *)
INTERFACE Tick; { OUT Value(n: INTEGER) } IN Enough END Tick;
COMPONENT Source OFFERS Tick;
  IMPLEMENTATION Tick;
    VARIABLE i: INTEGER;
    BEGIN
      FOR i := 1 TO 3 DO !Value(i * i) END;
      ?Enough
  END Tick;
END Source;
COMPONENT Main;
  VARIABLE s: Source; i, n: INTEGER;
  BEGIN
    NEW(s);
    FOR i := 1 TO 3 DO s?Value(n); WRITE(n); WRITE(" ") END;
    s!Enough; WRITELINE
END Main;
