(* SIN COS TAN ARCSIN ARCCOS ARCTAN SQRT PI, of REAL and INTEGER. *)
COMPONENT Main;
  PROCEDURE Near(a, b: REAL);
    VARIABLE d: REAL;
    BEGIN
      d := a - b;
      IF d < 0 THEN d := -d END;
      WRITE(d < 1.0E-12); WRITE(" ")
  END Near;
  BEGIN
    Near(SIN(PI / 6), 0.5); Near(COS(PI / 3), 0.5); Near(TAN(PI / 4), 1); WRITELINE;
    Near(ARCSIN(1), PI / 2); Near(ARCCOS(0), PI / 2); Near(ARCTAN(1) * 4, PI); WRITELINE;
    WRITE(SQRT(16)); WRITE(" "); WRITE(SQRT(2.25)); WRITE(" "); WRITE(SIN(0)); WRITE(" "); WRITE(COS(0)); WRITELINE
END Main;
