(* A text holds bytes: the length of UTF-8 text is counted in bytes, and WRITE passes it on. *)
COMPONENT Main;
  VARIABLE t: TEXT; i: INTEGER;
  BEGIN
    t := "Zürich €5 水";
    WRITE(t); WRITELINE;
    WRITE(LENGTH(t)); WRITELINE;
    FOR i := 0 TO 3 DO WRITEHEX(INTEGER(t[i])); WRITE(" ") END; WRITELINE;
    WRITE("é" = "é"); WRITE(" "); WRITE(LENGTH("é")); WRITE(" "); WRITE("z" < "é"); WRITELINE
END Main;
