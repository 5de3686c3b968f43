(* error[argument-count] in line 4: the collection has 2 keys *)
COMPONENT Main;
  VARIABLE c[i, j: INTEGER]: INTEGER; i: INTEGER;
  BEGIN FOREACH i OF c DO END
END Main;
