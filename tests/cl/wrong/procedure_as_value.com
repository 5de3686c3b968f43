(* error[type] in line 6: P returns nothing *)
COMPONENT Main;
  PROCEDURE P;
    BEGIN WRITELINE
  END P;
  BEGIN WRITE(P)
END Main;
