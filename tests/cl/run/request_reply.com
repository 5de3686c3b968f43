(* A request and its reply: each call opens a communication with a server process of its own. *)
INTERFACE Square; IN Compute(x: INTEGER) OUT Result(y: INTEGER) END Square;
COMPONENT Server OFFERS Square;
  VARIABLE calls: INTEGER;
  IMPLEMENTATION Square;
    VARIABLE x: INTEGER;
    BEGIN {EXCLUSIVE} INC(calls); ?Compute(x); !Result(x * x)
  END Square;
  FINALLY WRITE("calls "); WRITE(calls); WRITELINE
END Server;
COMPONENT Main;
  VARIABLE s: Server; i, y: INTEGER;
  BEGIN
    NEW(s);
    FOR i := 1 TO 4 DO s!Compute(i); s?Result(y); WRITE(y); WRITE(" ") END;
    WRITELINE
END Main;
