(* error[type] in line 3: AND needs BOOLEAN operands *)
COMPONENT Main;
  BEGIN WRITE(TRUE AND 1)
END Main;
