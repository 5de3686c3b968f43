(* error[index] in line 4: the array has 2 dimensions, here is 1 index *)
COMPONENT Main;
  VARIABLE m[i, j: INTEGER]: INTEGER {ARRAY};
  BEGIN NEW(m, 2, 2); m[1] := 3
END Main;
