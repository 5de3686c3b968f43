(* error[type] in line 3: the index of an array is an INTEGER *)
COMPONENT Main;
  VARIABLE a[t: TEXT]: INTEGER {ARRAY};
END Main;
