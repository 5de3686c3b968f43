(* error[duplicate-name] in line 4: the name is declared twice *)
COMPONENT Main;
END Main;
COMPONENT Main;
END Main;
