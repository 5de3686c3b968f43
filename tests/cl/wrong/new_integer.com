(* error[type] in line 4: NEW is for components, arrays and texts *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN NEW(i)
END Main;
