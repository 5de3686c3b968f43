COMPONENT Main;
  VARIABLE t: TEXT; n: INTEGER;
  BEGIN
    n := -1;
    NEW(t, n)
END Main;
