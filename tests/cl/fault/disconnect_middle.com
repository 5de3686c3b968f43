(* DISCONNECT in the middle of a communication is a fault of who disconnects, not of those who communicate. *)
INTERFACE Talk; IN Start { IN More } IN Over END Talk;
COMPONENT Main;
  COMPONENT Listener OFFERS Talk;
    IMPLEMENTATION Talk;
      BEGIN ?Start; WHILE ?More DO ?More END; ?Over
    END Talk;
  END Listener;
  COMPONENT Speaker REQUIRES Talk;
    VARIABLE first: BOOLEAN;
    BEGIN Talk!Start; Talk!More
    ACTIVITY {EXCLUSIVE} first := TRUE; AWAIT(~first); Talk!Over
  END Speaker;
  VARIABLE listener: Listener; speaker: Speaker;
  ACTIVITY {EXCLUSIVE}
    NEW(listener); NEW(speaker); CONNECT(Talk(speaker), listener);
    PASSIVATE(1); DISCONNECT(Talk(speaker)); WRITE("not reached"); WRITELINE
END Main;
