(* Codes of digits, TEXT against CHARACTER, reals that end with a point, IS of simple types, the rest of the least INTEGER. *)
COMPONENT Main;
  CONSTANT Zero = "0"; Half = 0.5; Whole = 12.; Is = 3 IS INTEGER; Least = MIN(INTEGER) MOD -1;
  VARIABLE line: TEXT; c: CHARACTER; i, j: INTEGER; r: REAL; t[k: INTEGER]: TEXT;
  PROCEDURE Minus(n: INTEGER): INTEGER; BEGIN RETURN -n END Minus;
  BEGIN
    WRITE(INTEGER("0")); WRITE(" "); WRITE(INTEGER(Zero)); WRITE(" "); WRITE(INTEGER("9")); WRITE(" "); WRITE(INTEGER("12")); WRITELINE;
    line := "7"; c := "7";
    WRITE(INTEGER(line)); WRITE(" "); WRITE(INTEGER(c)); WRITELINE;
    WRITE(line = 37X); WRITE(37X = line); WRITE(line = c); WRITE(line # c); WRITE(c < line); WRITELINE;
    line := TEXT(22X);
    WRITE(line = 22X); WRITE(line < 23X); WRITE(line >= 23X); WRITELINE;
    line := "77"; WRITE(line = c); WRITE(line > c); WRITE(c <= line); WRITELINE;
    line := ""; WRITE(line = 0X); WRITE(0X = line); WRITE(line = c); WRITELINE;
    t[1] := "x"; WRITE(t[1] = 78X); WRITE(TEXT(5) = 35X); WRITE("ab" > 61X); WRITELINE;
    r := 0.; WRITE(r); WRITE(" "); WRITE(Whole); WRITE(" "); WRITE(1.E2); WRITELINE;
    IF r <= 0.THEN WRITE("zero") END; WRITELINE;
    WRITE(i IS INTEGER); WRITE(i IS REAL); WRITE(r IS REAL); WRITE(line IS TEXT); WRITE(c IS CHARACTER); WRITE((i = 1) IS BOOLEAN); WRITE(Is); WRITELINE;
    i := MIN(INTEGER); j := Minus(1);
    WRITE(i MOD j); WRITE(" "); WRITE(i MOD -1); WRITE(" "); WRITE(Least); WRITE(" "); WRITE((i + 1) MOD j); WRITE(" "); WRITE(7 MOD j); WRITELINE;
    WRITE(7 MOD Minus(3)); WRITE(" "); WRITE(-7 MOD Minus(3)); WRITE(" "); WRITE(-7 MOD 3); WRITE(" "); WRITE(i DIV 2); WRITE(" "); WRITE(i MOD 10); WRITELINE
END Main;
