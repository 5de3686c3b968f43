(* TERMINATED() tells an endless activity that its component has been told to end. *)
COMPONENT Endless;
  VARIABLE rounds: INTEGER;
  ACTIVITY {EXCLUSIVE}
    WHILE ~TERMINATED() DO INC(rounds); PASSIVATE(1) END;
    WRITE(TERMINATED()); WRITE(rounds >= 0); WRITELINE
END Endless;
COMPONENT Main;
  VARIABLE e: Endless;
  BEGIN NEW(e); DELETE(e)
END Main;
