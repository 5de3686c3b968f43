(* error[type] in line 4: the key is a TEXT *)
COMPONENT Main;
  VARIABLE c[t: TEXT]: INTEGER; i: INTEGER;
  BEGIN FOREACH i OF c DO END
END Main;
