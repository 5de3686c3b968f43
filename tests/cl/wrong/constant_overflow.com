(* error[constant] in line 3: the result does not fit INTEGER *)
COMPONENT Main;
  CONSTANT Big = MAX(INTEGER) + 1;
END Main;
