COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; i: INTEGER;
  BEGIN
    NEW(a, 3); i := 3;
    WRITE("before"); WRITELINE;
    a[i] := 1;
    WRITE("never")
END Main;
