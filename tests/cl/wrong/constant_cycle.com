(* error[constant] in line 3: the constants need each other *)
COMPONENT Main;
  CONSTANT A = B + 1; B = A + 1;
END Main;
