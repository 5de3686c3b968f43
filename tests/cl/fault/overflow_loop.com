(* Sums at the edge of INTEGER: the last that fits is made, the next is a fault, wherever a loop
   has made sure of others. *)
COMPONENT Main;
  VARIABLE i, n, sum: INTEGER; a[i: INTEGER]: INTEGER {ARRAY};

  PROCEDURE Next(x: INTEGER): INTEGER;
  BEGIN RETURN x + 1 END Next;

BEGIN
  NEW(a, 4);
  FOR i := MAX(INTEGER) - 2 TO MAX(INTEGER) DO INC(n) END;
  FOR i := MIN(INTEGER) + 2 TO MIN(INTEGER) BY -1 DO INC(n) END;
  WRITE(n); WRITELINE;
  i := MAX(INTEGER) - 3;
  WHILE i < MAX(INTEGER) DO INC(i); INC(n) END;
  WRITE(n); WRITE(" "); WRITE(i - 1); WRITELINE;
  FOR i := 0 TO 3 DO a[i] := MAX(INTEGER) - 3 + i; sum := a[i] END;
  WRITE(sum); WRITELINE;
  FOR i := 0 TO 3 DO a[i] := Next(a[i]); WRITE(a[i]); WRITELINE END
END Main;
