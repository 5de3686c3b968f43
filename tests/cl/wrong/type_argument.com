(* error[type] in line 6: the argument is an INTEGER, the parameter a TEXT *)
COMPONENT Main;
  PROCEDURE P(t: TEXT);
    BEGIN WRITE(t)
  END P;
  BEGIN P(1)
END Main;
