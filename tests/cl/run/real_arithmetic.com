(* REAL is a double; mixed operands become REAL; / of two INTEGERs is REAL. *)
COMPONENT Main;
  VARIABLE r: REAL; i: INTEGER;
  BEGIN
    i := 7;
    WRITE(1 / 4); WRITELINE;
    WRITE(i / 2); WRITELINE;
    WRITE(i + 0.5); WRITELINE;
    r := 0.1; WRITE(r + 0.2); WRITELINE;
    WRITE(r * 3 = 0.3); WRITELINE;
    WRITE(-r); WRITELINE;
    WRITE(2.5 - 5); WRITELINE;
    WRITE(1.5 < 2); WRITE(" "); WRITE(2 = 2.0); WRITELINE
END Main;
