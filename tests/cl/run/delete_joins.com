(* DELETE is also join: what the component did has been done. *)
COMPONENT Worker;
  VARIABLE i, sum: INTEGER;
  ACTIVITY {EXCLUSIVE}
    FOR i := 1 TO 1000 DO sum := sum + i END;
    WRITE(sum); WRITELINE
END Worker;
COMPONENT Main;
  VARIABLE w: Worker;
  BEGIN NEW(w); DELETE(w); WRITE("joined"); WRITELINE
END Main;
