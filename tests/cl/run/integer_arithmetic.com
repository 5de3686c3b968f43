(* DIV and MOD floor; unary minus binds a whole term. *)
COMPONENT Main;
  PROCEDURE Both(a, b: INTEGER);
    BEGIN WRITE(a DIV b); WRITE(" "); WRITE(a MOD b); WRITELINE
  END Both;
  BEGIN
    Both(7, 2); Both(-7, 2); Both(-8, 2); Both(1, 10); Both(-1, 10); Both(0, 3);
    WRITE(-2 * 3 + 1); WRITE(" "); WRITE(2 + 3 * 4 - 5); WRITE(" ");
    WRITE((2 + 3) * 4); WRITE(" "); WRITE(-7 DIV 2); WRITE(" "); WRITE(- -3); WRITELINE;
    WRITE(100 DIV 7 DIV 2); WRITE(" "); WRITE(10 - 3 - 2); WRITELINE
END Main;
