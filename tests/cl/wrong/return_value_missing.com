(* error[type] in line 4: RETURN needs a value here *)
COMPONENT Main;
  PROCEDURE F(): INTEGER;
    BEGIN RETURN
  END F;
  BEGIN WRITE(F())
END Main;
