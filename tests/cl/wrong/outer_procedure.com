(* error[outer-procedure] in line 7: a procedure of an outer component is not visible here *)
COMPONENT Main;
  PROCEDURE Outer;
    BEGIN WRITELINE
  END Outer;
  COMPONENT Inner;
    BEGIN Outer
  END Inner;
  VARIABLE inner: Inner;
  BEGIN NEW(inner)
END Main;
