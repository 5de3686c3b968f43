(* error[type] in line 4: MOVE is for components *)
COMPONENT Main;
  VARIABLE a, b: INTEGER;
  BEGIN a := 1; MOVE(a, b)
END Main;
