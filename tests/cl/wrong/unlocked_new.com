(* error[unlocked] in line 6: NEW needs EXCLUSIVE *)
COMPONENT Part;
END Part;
COMPONENT Main;
  VARIABLE p: Part;
  ACTIVITY NEW(p)
END Main;
