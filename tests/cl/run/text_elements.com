(* t[i] counts from 0, can be read and written. *)
COMPONENT Main;
  VARIABLE t: TEXT; i: INTEGER; c: CHARACTER;
  BEGIN
    t := "stressed";
    FOR i := 0 TO LENGTH(t) DIV 2 - 1 DO
      c := t[i]; t[i] := t[LENGTH(t) - 1 - i]; t[LENGTH(t) - 1 - i] := c
    END;
    WRITE(t); WRITELINE;
    WRITE(t[0]); WRITE(INTEGER(t[1])); WRITE(t[2] = "s"); WRITELINE
END Main;
