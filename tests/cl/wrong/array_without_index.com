(* error[unknown-attribute] in line 3: ARRAY needs indices *)
COMPONENT Main;
  VARIABLE i: INTEGER {ARRAY};
END Main;
