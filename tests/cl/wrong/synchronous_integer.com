(* error[unknown-attribute] in line 3: SYNCHRONOUS marks components *)
COMPONENT Main;
  VARIABLE i: INTEGER {SYNCHRONOUS};
END Main;
