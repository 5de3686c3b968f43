(* error[argument-count] in line 4: NEW of an ANY variable needs a component type *)
COMPONENT Main;
  VARIABLE x: ANY;
  BEGIN NEW(x)
END Main;
