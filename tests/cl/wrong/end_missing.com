(* error[missing-end] in line 4: END is missing *)
COMPONENT Main;
  BEGIN IF TRUE THEN WRITELINE
END Main;
