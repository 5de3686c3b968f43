INTERFACE Divide; { IN Compute(a, b: INTEGER) OUT Result(q: INTEGER) } END Divide;
COMPONENT Divider OFFERS Divide;
  IMPLEMENTATION Divide;
    VARIABLE a, b: INTEGER;
    BEGIN
      WHILE ?Compute DO ?Compute(a, b); !Result(a DIV b) END
  END Divide;
END Divider;
COMPONENT Main;
  VARIABLE d: Divider; q: INTEGER;
  BEGIN
    NEW(d); d!Compute(9, 3); d?Result(q); WRITE(q); WRITELINE;
    d!Compute(9, 0); d?Result(q); WRITE(q)
END Main;
