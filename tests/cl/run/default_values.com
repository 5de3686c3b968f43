(* Variables start at zero, FALSE, 0X and the empty text, in components and in procedures. *)
COMPONENT Main;
  VARIABLE i: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT;
  PROCEDURE Local;
    VARIABLE i: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT;
    BEGIN
      WRITE(i); WRITE(r); WRITE(b); WRITE(INTEGER(c)); WRITE(LENGTH(t)); WRITELINE;
      i := 7; r := 7.5; b := TRUE; c := "7"; t := "seven"
  END Local;
  BEGIN
    WRITE(i); WRITE(r); WRITE(b); WRITE(INTEGER(c)); WRITE(LENGTH(t)); WRITELINE;
    Local; Local
END Main;
