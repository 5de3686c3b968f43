(* error[type] in line 4: the variable of FOR is an INTEGER *)
COMPONENT Main;
  VARIABLE r: REAL;
  BEGIN FOR r := 1 TO 2 DO END
END Main;
