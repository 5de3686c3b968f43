(* error[type] in line 6: components are moved, not assigned *)
COMPONENT Part;
END Part;
COMPONENT Main;
  VARIABLE a, b: Part;
  BEGIN NEW(a); b := a
END Main;
