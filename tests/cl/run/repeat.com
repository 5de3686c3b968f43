(* REPEAT runs at least once and ends when its condition holds. *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN
    i := 10;
    REPEAT WRITE(i); WRITE(" "); i := i DIV 2 UNTIL i = 0;
    REPEAT WRITE("once") UNTIL TRUE;
    WRITELINE
END Main;
