(* error[literal-too-large] in line 3: a CHARACTER has 8 bits *)
COMPONENT Main;
  BEGIN WRITE(100X)
END Main;
