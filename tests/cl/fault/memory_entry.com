(* options: --memory 1K *)
COMPONENT Main;
  BEGIN WRITE("there is no memory for this component"); WRITELINE
END Main;
