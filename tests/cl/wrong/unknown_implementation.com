(* error[unknown-interface] in line 3: there is no interface of this name *)
COMPONENT Main;
  IMPLEMENTATION Nothing;
  END Nothing;
END Main;
