(* Assignment to every simple type; INTEGER becomes REAL by itself. *)
COMPONENT Main;
  VARIABLE i: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT;
  BEGIN
    i := 42; r := i; b := i = 42; c := "x"; t := "text";
    WRITE(i); WRITE(" "); WRITE(r); WRITE(" "); WRITE(b); WRITE(" ");
    WRITE(c); WRITE(" "); WRITE(t); WRITELINE;
    t := "y"; WRITE(t); WRITELINE
END Main;
