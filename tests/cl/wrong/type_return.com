(* error[type] in line 4: the procedure returns an INTEGER *)
COMPONENT Main;
  PROCEDURE F(): INTEGER;
    BEGIN RETURN "text"
  END F;
  BEGIN WRITE(F())
END Main;
