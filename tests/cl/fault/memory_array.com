(* options: --memory 16M *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY};
  BEGIN
    NEW(a, 1000); a[999] := 1;
    NEW(a, 100000000)
END Main;
