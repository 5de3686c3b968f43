(* CHARACTER values: literals, hexadecimal literals, all 8 bits. *)
COMPONENT Main;
  VARIABLE c: CHARACTER; i, n: INTEGER;
  BEGIN
    c := 41X; WRITE(c); WRITE(c = "A"); WRITELINE;
    c := 0FFX; WRITE(INTEGER(c)); WRITELINE;
    WRITE(0DX = CHARACTER(13)); WRITE("tab"); WRITE(09X); WRITE("end"); WRITELINE;
    n := 0;
    FOR i := 0 TO 255 DO IF INTEGER(CHARACTER(i)) = i THEN INC(n) END END;
    WRITE(n); WRITELINE
END Main;
