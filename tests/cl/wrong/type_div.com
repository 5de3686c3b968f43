(* error[type] in line 3: DIV needs INTEGER operands *)
COMPONENT Main;
  BEGIN WRITE(7.0 DIV 2)
END Main;
