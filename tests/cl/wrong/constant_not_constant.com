(* error[constant] in line 4: the value of a constant is known before the program runs *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  CONSTANT C = i + 1;
END Main;
