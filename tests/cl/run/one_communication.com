(* A protocol that repeats is served by one process. *)
INTERFACE Square; { IN Compute(x: INTEGER) OUT Result(y: INTEGER) } END Square;
COMPONENT Server OFFERS Square;
  VARIABLE processes, calls: INTEGER;
  IMPLEMENTATION Square;
    VARIABLE x: INTEGER;
    BEGIN
      BEGIN {EXCLUSIVE} INC(processes) END;
      WHILE ?Compute DO {EXCLUSIVE} ?Compute(x); INC(calls); !Result(x * x) END
  END Square;
  FINALLY WRITE("processes "); WRITE(processes); WRITE(" calls "); WRITE(calls); WRITELINE
END Server;
COMPONENT Main;
  VARIABLE s: Server; i, y: INTEGER;
  BEGIN
    NEW(s);
    FOR i := 1 TO 4 DO s!Compute(i); s?Result(y); WRITE(y); WRITE(" ") END;
    WRITELINE
END Main;
