(* FOR upwards, downwards, with steps that miss the bound, and not at all. *)
COMPONENT Main;
  CONSTANT Step = -3;
  VARIABLE i: INTEGER;
  BEGIN
    FOR i := 1 TO 10 BY 4 DO WRITE(i); WRITE(" ") END; WRITELINE;
    FOR i := 10 TO 1 BY Step DO WRITE(i); WRITE(" ") END; WRITELINE;
    FOR i := 3 TO 1 DO WRITE("never") END;
    FOR i := 1 TO 3 BY -1 DO WRITE("never") END;
    FOR i := 5 TO 5 DO WRITE(i) END; WRITELINE;
    FOR i := -2 TO 2 BY 2 DO WRITE(i); WRITE(" ") END; WRITELINE
END Main;
