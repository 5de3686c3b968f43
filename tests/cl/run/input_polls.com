(* INPUT does not block: it is FALSE until the message is there. *)
INTERFACE Work; IN Start OUT Result(n: INTEGER) END Work;
COMPONENT Worker OFFERS Work;
  VARIABLE n, i: INTEGER;
  IMPLEMENTATION Work;
    BEGIN {EXCLUSIVE}
      ?Start; FOR i := 1 TO 100 DO n := n + i END; !Result(n)
  END Work;
END Worker;
COMPONENT Main;
  VARIABLE w: Worker; n, polls: INTEGER;
  BEGIN
    NEW(w);
    WRITE(INPUT(w, Result)); WRITE(" ");
    w!Start; polls := 0;
    WHILE ~INPUT(w, Result) DO INC(polls); PASSIVATE(1) END;
    w?Result(n); WRITE(n); WRITE(" "); WRITE(polls >= 0); WRITELINE
END Main;
