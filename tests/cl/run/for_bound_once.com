(* The bound of FOR is evaluated once, before the first round. *)
COMPONENT Main;
  VARIABLE i, n, calls: INTEGER;
  PROCEDURE Bound(): INTEGER;
    BEGIN INC(calls); RETURN n
  END Bound;
  BEGIN
    n := 3; calls := 0;
    FOR i := 1 TO Bound() DO n := 100; WRITE(i); WRITE(" ") END;
    WRITE("calls "); WRITE(calls); WRITELINE
END Main;
