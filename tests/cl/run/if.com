(* IF with ELSIF, its other spelling ELSEIF, and ELSE. *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN
    FOR i := 0 TO 4 DO
      IF i = 0 THEN WRITE("zero")
      ELSIF i = 1 THEN WRITE("one")
      ELSEIF i = 2 THEN WRITE("two")
      ELSIF i = 2 THEN WRITE("never")
      ELSE WRITE("many")
      END;
      IF i = 4 THEN WRITE("!") END;
      WRITELINE
    END
END Main;
