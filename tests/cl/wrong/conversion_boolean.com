(* error[type] in line 3: a BOOLEAN does not convert to INTEGER *)
COMPONENT Main;
  BEGIN WRITE(INTEGER(TRUE))
END Main;
