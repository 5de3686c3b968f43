(* error[argument-count] in line 4: the array has 2 dimensions *)
COMPONENT Main;
  VARIABLE m[i, j: INTEGER]: INTEGER {ARRAY};
  BEGIN NEW(m, 5)
END Main;
