(* error[unknown-name] in line 3: there is no variable of this name *)
COMPONENT Main;
  BEGIN x := 1
END Main;
