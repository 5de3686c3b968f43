(* The smallest program. *)
COMPONENT Hello;
  BEGIN WRITE("Hello, world"); WRITELINE
END Hello;
