(* Input at its end answers EOF, again and again. *)
COMPONENT Main REQUIRES Input;
  VARIABLE t: TEXT; i: INTEGER;
  BEGIN
    FOR i := 1 TO 2 DO
      Input!ReadLine;
      IF Input?Line THEN Input?Line(t); WRITE(t) ELSE Input?EOF; WRITE("EOF ") END
    END;
    Input!ReadByte; Input?EOF; WRITELINE
END Main;
