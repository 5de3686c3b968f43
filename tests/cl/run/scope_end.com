(* At the end of a procedure its components are deleted. *)
COMPONENT Part;
  ACTIVITY WRITE("working "); 
  FINALLY WRITE("gone"); WRITELINE
END Part;
COMPONENT Main;
  PROCEDURE Use;
    VARIABLE p: Part;
    BEGIN NEW(p)
  END Use;
  BEGIN WRITE("1 "); Use; WRITE("2 "); Use; WRITE("end"); WRITELINE
END Main;
