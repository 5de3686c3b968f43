(* A client tests which answer came. *)
INTERFACE Divide; IN Compute(a, b: INTEGER) ( OUT Result(q: INTEGER) | OUT Impossible ) END Divide;
COMPONENT Divider OFFERS Divide;
  IMPLEMENTATION Divide;
    VARIABLE a, b: INTEGER;
    BEGIN
      ?Compute(a, b);
      IF b = 0 THEN !Impossible ELSE !Result(a DIV b) END
  END Divide;
END Divider;
COMPONENT Main;
  VARIABLE d: Divider; i, q: INTEGER;
  BEGIN
    NEW(d);
    FOR i := 2 TO 0 BY -1 DO
      d!Compute(10, i);
      IF d?Result THEN d?Result(q); WRITE(q) ELSE d?Impossible; WRITE("impossible") END;
      WRITELINE
    END
END Main;
