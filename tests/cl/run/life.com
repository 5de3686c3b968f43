(* BEGIN, then ACTIVITY, then FINALLY; DELETE waits for the activity. *)
COMPONENT Part;
  BEGIN WRITE("begin "); 
  ACTIVITY WRITE("activity ")
  FINALLY WRITE("finally"); WRITELINE
END Part;
COMPONENT Main;
  VARIABLE p: Part;
  BEGIN
    NEW(p); DELETE(p); WRITE(EXISTS(p)); WRITELINE;
    NEW(p); NEW(p); DELETE(p); WRITE("done"); WRITELINE
END Main;
