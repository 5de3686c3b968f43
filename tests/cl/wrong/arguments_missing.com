(* error[argument-count] in line 6: P takes 2 arguments, here is 1 *)
COMPONENT Main;
  PROCEDURE P(a, b: INTEGER);
    BEGIN WRITE(a + b)
  END P;
  BEGIN P(1)
END Main;
