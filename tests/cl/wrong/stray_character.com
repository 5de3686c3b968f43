(* error[stray-character] in line 3: this character has no meaning here *)
COMPONENT Main;
  BEGIN WRITE(1 % 2)
END Main;
