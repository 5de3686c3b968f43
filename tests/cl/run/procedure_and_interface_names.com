(* A procedure, a variable and an implementation may bear the name of an interface. *)
INTERFACE Clock; IN Read OUT Clock(t: INTEGER) END Clock;
COMPONENT Watch OFFERS Clock;
  IMPLEMENTATION Clock;
    BEGIN ?Read; !Clock(12)
  END Clock;
END Watch;
COMPONENT User REQUIRES Clock;
  PROCEDURE Clock(): INTEGER;
    VARIABLE t: INTEGER;
    BEGIN Clock!Read; Clock?Clock(t); RETURN t
  END Clock;
  BEGIN WRITE(Clock()); WRITELINE
END User;
COMPONENT Main;
  VARIABLE w: Watch; u: User;
  BEGIN NEW(w); NEW(u); CONNECT(Clock(u), Clock(w)); DELETE(u)
END Main;
