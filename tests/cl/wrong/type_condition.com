(* error[type] in line 3: the condition of IF is a BOOLEAN *)
COMPONENT Main;
  BEGIN IF 1 THEN WRITELINE END
END Main;
