(* error[outer-variable] in line 5: a variable of an outer component is not visible here *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  COMPONENT Inner;
    BEGIN i := 1
  END Inner;
  VARIABLE inner: Inner;
  BEGIN NEW(inner)
END Main;
