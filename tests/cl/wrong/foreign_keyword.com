(* error[foreign-keyword] in line 3: it is VARIABLE in this language *)
COMPONENT Main;
  VAR a: INTEGER;
  BEGIN a := 1; WRITE(a)
END Main;
