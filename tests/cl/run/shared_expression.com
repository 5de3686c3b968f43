(* An attribute before an expression takes the lock for that expression only. *)
INTERFACE Stop; IN Now OUT Yes END Stop;
COMPONENT Spinner OFFERS Stop;
  VARIABLE stopped: BOOLEAN; rounds: INTEGER;
  IMPLEMENTATION Stop;
    BEGIN ?Now; BEGIN {EXCLUSIVE} stopped := TRUE END; !Yes
  END Stop;
  ACTIVITY
    WHILE {SHARED} ~stopped DO BEGIN {EXCLUSIVE} INC(rounds) END; PASSIVATE(1) END;
    IF {SHARED} rounds >= 0 THEN WRITE("stopped"); WRITELINE END
END Spinner;
COMPONENT Main;
  VARIABLE s: Spinner;
  BEGIN NEW(s); PASSIVATE(5); s!Now; s?Yes
END Main;
