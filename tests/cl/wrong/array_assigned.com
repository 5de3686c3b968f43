(* error[type] in line 4: an array or a collection is not assigned as a whole *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; b[i: INTEGER]: INTEGER {ARRAY};
  BEGIN NEW(a, 3); b := a
END Main;
