COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; n: INTEGER;
  BEGIN
    n := -3;
    NEW(a, n)
END Main;
