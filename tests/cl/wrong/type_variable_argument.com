(* error[type] in line 7: the argument of a VARIABLE parameter has exactly its type *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  PROCEDURE P(VARIABLE r: REAL);
    BEGIN r := 1
  END P;
  BEGIN P(i)
END Main;
