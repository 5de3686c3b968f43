(* error[duplicate-name] in line 3: the name is declared twice *)
COMPONENT Main;
  PROCEDURE P(a: INTEGER; a: TEXT);
  END P;
END Main;
