(* A hot loop cannot hold the others up: the loop ends because another process ends it. *)
INTERFACE Stop; IN Now OUT Yes END Stop;
COMPONENT Hot OFFERS Stop;
  VARIABLE stopped: BOOLEAN;
  IMPLEMENTATION Stop;
    BEGIN ?Now; BEGIN {EXCLUSIVE} stopped := TRUE END; !Yes
  END Stop;
  ACTIVITY
    WHILE {SHARED} ~stopped DO END;
    WRITE("stopped"); WRITELINE
END Hot;
COMPONENT Main;
  VARIABLE h: Hot;
  BEGIN NEW(h); h!Now; h?Yes
END Main;
