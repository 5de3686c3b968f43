(* error[unknown-name] in line 4: there is no variable or constant of this name *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := k + 1
END Main;
