(* Arrays of several dimensions; LENGTH(a, d) counts dimensions from 0. *)
COMPONENT Main;
  VARIABLE m[row, column: INTEGER]: REAL {ARRAY}; z[x, y, t: INTEGER]: BOOLEAN {ARRAY}; i, j: INTEGER;
  BEGIN
    NEW(m, 2, 3); NEW(z, 4, 5, 6);
    FOR i := 0 TO 1 DO FOR j := 0 TO 2 DO m[i, j] := i + j / 10 END END;
    WRITE(m[0, 0]); WRITE(" "); WRITE(m[1, 2]); WRITE(" "); WRITE(m[0, 2]); WRITELINE;
    WRITE(LENGTH(m)); WRITE(LENGTH(m, 0)); WRITE(LENGTH(m, 1)); WRITELINE;
    WRITE(LENGTH(z, 0)); WRITE(LENGTH(z, 1)); WRITE(LENGTH(z, 2)); WRITELINE;
    z[3, 4, 5] := TRUE; WRITE(z[3, 4, 5]); WRITE(z[3, 4, 4]); WRITELINE
END Main;
