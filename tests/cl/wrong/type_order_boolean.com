(* error[type] in line 3: BOOLEAN has no order *)
COMPONENT Main;
  BEGIN WRITE(TRUE < FALSE)
END Main;
