(* HALT(0) ends the whole program normally: nothing after it runs. *)
COMPONENT Main;
  PROCEDURE Leave;
    BEGIN WRITE("leaving"); WRITELINE; HALT(0)
  END Leave;
  BEGIN
    Leave; WRITE("never"); WRITELINE
END Main;
