(* error[not-a-variable] in line 6: the argument of a VARIABLE parameter is a variable *)
COMPONENT Main;
  PROCEDURE P(VARIABLE i: INTEGER);
    BEGIN i := 1
  END P;
  BEGIN P(1 + 2)
END Main;
