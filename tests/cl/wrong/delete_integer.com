(* error[type] in line 4: DELETE is for components and elements of collections *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := 1; DELETE(i)
END Main;
