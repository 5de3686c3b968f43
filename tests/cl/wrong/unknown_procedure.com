(* error[unknown-name] in line 3: there is no procedure of this name *)
COMPONENT Main;
  BEGIN Print("x")
END Main;
