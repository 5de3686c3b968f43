(* error[duplicate-name] in line 4: the name is declared twice *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  VARIABLE i: TEXT;
END Main;
