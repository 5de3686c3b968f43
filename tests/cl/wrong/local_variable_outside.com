(* error[unknown-name] in line 7: a variable of a procedure is not visible outside it *)
COMPONENT Main;
  PROCEDURE P;
    VARIABLE local: INTEGER;
    BEGIN local := 1
  END P;
  BEGIN P; local := 2
END Main;
