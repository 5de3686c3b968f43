(* Division by constants and by variables, at the edges of INTEGER; loops up to its ends. *)
COMPONENT Main;
  VARIABLE x[i: INTEGER]: INTEGER {ARRAY}; i, by, n, wrong: INTEGER;

  PROCEDURE Same(a, b: INTEGER);
  BEGIN IF a # b THEN INC(wrong); WRITE(a); WRITE(" "); WRITE(b); WRITELINE END END Same;

BEGIN
  NEW(x, 12);
  x[0] := MIN(INTEGER); x[1] := MIN(INTEGER) + 1; x[2] := -4294967297; x[3] := -4294967296;
  x[4] := -11; x[5] := -1; x[6] := 0; x[7] := 1; x[8] := 4294967295; x[9] := 4294967296;
  x[10] := MAX(INTEGER) - 1; x[11] := MAX(INTEGER);
  FOR i := 0 TO 11 DO
    by := 1; Same(x[i] DIV 1, x[i] DIV by); Same(x[i] MOD 1, x[i] MOD by);
    by := 3; Same(x[i] DIV 3, x[i] DIV by); Same(x[i] MOD 3, x[i] MOD by);
    by := 7; Same(x[i] DIV 7, x[i] DIV by); Same(x[i] MOD 7, x[i] MOD by);
    by := 8; Same(x[i] DIV 8, x[i] DIV by); Same(x[i] MOD 8, x[i] MOD by);
    by := 1000000007; Same(x[i] DIV 1000000007, x[i] DIV by); Same(x[i] MOD 1000000007, x[i] MOD by);
    by := 4294967296; Same(x[i] DIV 4294967296, x[i] DIV by); Same(x[i] MOD 4294967296, x[i] MOD by);
    by := 9223372036854775807;
    Same(x[i] DIV 9223372036854775807, x[i] DIV by);
    Same(x[i] MOD 9223372036854775807, x[i] MOD by)
  END;
  WRITE(wrong); WRITELINE;
  i := MAX(INTEGER) - 3; n := 0;
  WHILE i < MAX(INTEGER) DO i := i + 1; n := n + 1 END;
  WRITE(n); WRITE(" "); WRITE(i); WRITELINE;
  i := MIN(INTEGER) + 3;
  WHILE i > MIN(INTEGER) DO i := i - 1; n := n + 1 END;
  WRITE(n); WRITE(" "); WRITE(i); WRITELINE;
  i := 1; n := 0;
  WHILE i <= 4611686018427387903 DO i := i * 2; n := n + 1 END;
  WRITE(n); WRITE(" "); WRITE(i); WRITELINE
END Main;
