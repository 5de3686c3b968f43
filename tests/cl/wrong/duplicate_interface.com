(* error[duplicate-name] in line 3: the name is declared twice *)
INTERFACE I; IN A END I;
INTERFACE I; IN B END I;
COMPONENT Main;
END Main;
