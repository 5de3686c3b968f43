(* error[type] in line 6: a component cannot be written *)
COMPONENT Part;
END Part;
COMPONENT Main;
  VARIABLE p: Part;
  BEGIN NEW(p); WRITE(p)
END Main;
