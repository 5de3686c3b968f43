(* error[constant] in line 3: division by zero *)
COMPONENT Main;
  CONSTANT Z = 1 DIV 0;
END Main;
