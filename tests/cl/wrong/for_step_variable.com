(* error[constant] in line 4: the step of FOR is constant *)
COMPONENT Main;
  VARIABLE i, k: INTEGER;
  BEGIN k := 1; FOR i := 1 TO 2 BY k DO END
END Main;
