(* PASSIVATE releases the lock: others come in meanwhile. *)
INTERFACE Change; IN Set(n: INTEGER) OUT Ok END Change;
COMPONENT Cell OFFERS Change;
  VARIABLE v: INTEGER;
  IMPLEMENTATION Change;
    BEGIN {EXCLUSIVE} ?Set(v); !Ok
  END Change;
  ACTIVITY {EXCLUSIVE}
    WHILE v = 0 DO PASSIVATE(1) END;
    WRITE(v); WRITELINE
END Cell;
COMPONENT Main;
  VARIABLE c: Cell {SYNCHRONOUS};
  BEGIN NEW(c); PASSIVATE(10); WRITE(TIME); WRITE(" "); c!Set(5); c?Ok; DELETE(c)
END Main;
