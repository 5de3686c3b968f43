(* error[type] in line 6: the result of F is not used *)
COMPONENT Main;
  PROCEDURE F(): INTEGER;
    BEGIN RETURN 1
  END F;
  BEGIN F
END Main;
