(* error[type] in line 4: this procedure returns nothing *)
COMPONENT Main;
  PROCEDURE P;
    BEGIN RETURN 1
  END P;
  BEGIN P
END Main;
