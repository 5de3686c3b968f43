(* error[type] in line 4: + needs numbers *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := 1 + TRUE
END Main;
