(* error[type] in line 4: the bound of FOR is an INTEGER *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN FOR i := 1 TO 2.5 DO END
END Main;
