(* A 0X ends a text for WRITE and comparison; LENGTH counts what was allocated. *)
COMPONENT Main;
  VARIABLE t, u: TEXT;
  BEGIN
    t := "tidemill"; t[4] := 0X;
    WRITE(t); WRITELINE;
    WRITE(LENGTH(t)); WRITELINE;
    WRITE(t = "tide"); WRITE(" "); WRITE(t < "tidem"); WRITE(" "); WRITE(t # "tidemill"); WRITELINE;
    WRITE(t[5]); WRITELINE;
    NEW(u, 10); WRITE(LENGTH(u)); WRITE(u = ""); WRITELINE;
    u[0] := "o"; u[1] := "k"; WRITE(u); WRITE(u = "ok"); WRITELINE
END Main;
