(* warning[return-missing] in line 3: the procedure can end without a value *)
COMPONENT Main;
  PROCEDURE F(i: INTEGER): INTEGER;
    BEGIN IF i > 0 THEN RETURN 1 END
  END F;
  BEGIN WRITE(F(1))
END Main;
