(* error[unknown-attribute] in line 3: the attributes here are EXCLUSIVE and SHARED *)
COMPONENT Main;
  ACTIVITY {PRIVATE} WRITELINE
END Main;
