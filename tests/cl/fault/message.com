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
  VARIABLE d: Divider; q: INTEGER;
  BEGIN
    NEW(d); d!Compute(8, 2); d?Result(q); WRITE(q); WRITELINE;
    d!Compute(8, 0); d?Result(q); WRITE(q)
END Main;
