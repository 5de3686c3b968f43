(* error[literal-too-large] in line 3: the number does not fit INTEGER *)
COMPONENT Main;
  BEGIN WRITE(9223372036854775808)
END Main;
