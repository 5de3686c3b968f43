(* error[type] in line 4: the key of this collection is a TEXT *)
COMPONENT Main;
  VARIABLE c[k: TEXT]: INTEGER;
  BEGIN c[5] := 1
END Main;
