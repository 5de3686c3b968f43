(* error[unknown-type] in line 3: there is no type of this name *)
COMPONENT Main;
  VARIABLE i: LONGINT;
END Main;
