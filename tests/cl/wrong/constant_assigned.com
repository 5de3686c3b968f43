(* error[not-a-variable] in line 4: a constant cannot be assigned *)
COMPONENT Main;
  CONSTANT C = 1;
  BEGIN C := 2
END Main;
