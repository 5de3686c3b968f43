(* A text is built character by character. *)
COMPONENT Main;
  VARIABLE t: TEXT; i: INTEGER;
  PROCEDURE Binary(n: INTEGER): TEXT;
    VARIABLE t: TEXT; i: INTEGER;
    BEGIN
      NEW(t, 8);
      FOR i := 7 TO 0 BY -1 DO t[i] := CHARACTER(48 + n MOD 2); n := n DIV 2 END;
      RETURN t
  END Binary;
  BEGIN
    WRITE(Binary(5)); WRITELINE;
    t := Binary(170); WRITE(t); WRITELINE;
    FOR i := 0 TO 7 DO IF t[i] = "1" THEN WRITE(7 - i) END END; WRITELINE
END Main;
