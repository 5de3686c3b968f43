(* error[type] in line 3: the condition of WHILE is a BOOLEAN *)
COMPONENT Main;
  BEGIN WHILE "yes" DO WRITELINE END
END Main;
