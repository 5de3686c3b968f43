(* error[type] in line 4: EXISTS is for components and elements of collections *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := 1; WRITE(EXISTS(i))
END Main;
