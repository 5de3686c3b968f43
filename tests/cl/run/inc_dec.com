(* INC and DEC of variables and of elements, by one or by more. *)
COMPONENT Main;
  VARIABLE i: INTEGER; a[k: INTEGER]: INTEGER {ARRAY}; c[t: TEXT]: INTEGER;
  BEGIN
    i := 5; INC(i); INC(i, 10); DEC(i); DEC(i, 3); INC(i, -2);
    WRITE(i); WRITELINE;
    NEW(a, 3); INC(a[1]); INC(a[1], 4); DEC(a[2]);
    WRITE(a[0]); WRITE(" "); WRITE(a[1]); WRITE(" "); WRITE(a[2]); WRITELINE;
    c["x"] := 1; INC(c["x"]); DEC(c["x"], 5); WRITE(c["x"]); WRITELINE
END Main;
