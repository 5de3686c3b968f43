(* A component that is not marked has a clock of its own, which starts at 0. *)
COMPONENT Own;
  BEGIN PASSIVATE(1000); WRITE(TIME); WRITE(" ")
END Own;
COMPONENT Main;
  VARIABLE o: Own;
  BEGIN NEW(o); DELETE(o); WRITE(TIME); PASSIVATE(3); WRITE(" "); WRITE(TIME);
    WRITE(" "); NEW(o); DELETE(o); WRITE(TIME); WRITELINE
END Main;
