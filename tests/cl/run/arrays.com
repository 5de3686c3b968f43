(* Arrays are dense, start at zero and are allocated by NEW, again with another size too. *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; t[i: INTEGER]: TEXT {ARRAY}; i, sum, n: INTEGER;
  BEGIN
    n := 5; NEW(a, n);
    WRITE(LENGTH(a)); WRITE(" "); WRITE(a[4]); WRITELINE;
    FOR i := 0 TO LENGTH(a) - 1 DO a[i] := i * i END;
    sum := 0; FOR i := 0 TO LENGTH(a) - 1 DO sum := sum + a[i] END;
    WRITE(sum); WRITELINE;
    NEW(a, 2); WRITE(LENGTH(a)); WRITE(" "); WRITE(a[1]); WRITELINE;
    NEW(t, 2); t[1] := "one"; WRITE(t[0]); WRITE(t[1]); WRITELINE;
    NEW(a, 0); WRITE(LENGTH(a)); WRITELINE
END Main;
