(* error[constant] in line 4: the step of FOR is not 0 *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN FOR i := 1 TO 2 BY 0 DO END
END Main;
