(* error[wrong-end-name] in line 4: END Main is expected *)
COMPONENT Main;
  BEGIN WRITELINE
END Other;
