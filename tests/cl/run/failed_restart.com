(* A fault stays in its component: the owner asks FAILED and starts it again. *)
INTERFACE Divide; IN Compute(a, b: INTEGER) OUT Result(q: INTEGER) END Divide;
COMPONENT Divider OFFERS Divide;
  IMPLEMENTATION Divide;
    VARIABLE a, b: INTEGER;
    BEGIN ?Compute(a, b); !Result(a DIV b)
  END Divide;
END Divider;
COMPONENT Main;
  VARIABLE d: Divider; q: INTEGER;
  BEGIN
    NEW(d); d!Compute(7, 2); d?Result(q); WRITE(q); WRITE(FAILED(d)); WRITELINE;
    d!Compute(7, 0);
    WHILE ~FAILED(d) DO PASSIVATE(1) END;
    WRITE("failed"); WRITELINE;
    NEW(d); WRITE(FAILED(d)); d!Compute(9, 3); d?Result(q); WRITE(q); WRITELINE
END Main;
