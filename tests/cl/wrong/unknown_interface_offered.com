(* error[unknown-interface] in line 2: there is no interface of this name *)
COMPONENT Main OFFERS Nothing;
END Main;
