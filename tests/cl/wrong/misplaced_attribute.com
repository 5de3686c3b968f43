(* error[unknown-attribute] in line 3: EXCLUSIVE is no attribute of a variable *)
COMPONENT Main;
  VARIABLE i: INTEGER {EXCLUSIVE};
END Main;
