(* The smallest program: one component, one process. *)
COMPONENT Hello;
  BEGIN
    WRITE("Hello, world"); WRITELINE
END Hello;
