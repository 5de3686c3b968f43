(* error[type] in line 3: ~ needs a BOOLEAN *)
COMPONENT Main;
  BEGIN WRITE(~5)
END Main;
