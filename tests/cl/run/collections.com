(* A collection: elements appear on first write, DELETE removes them, EXISTS asks. *)
COMPONENT Main;
  VARIABLE c[k: INTEGER]: INTEGER; k: INTEGER;
  BEGIN
    c[1000000] := 1; c[-5] := 2; c[7] := 3; c[7] := 4;
    WRITE(EXISTS(c[7])); WRITE(EXISTS(c[8])); WRITELINE;
    FOREACH k OF c DO WRITE(k); WRITE(":"); WRITE(c[k]); WRITE(" ") END; WRITELINE;
    DELETE(c[7]); WRITE(EXISTS(c[7])); WRITELINE;
    FOREACH k OF c DO WRITE(k); WRITE(" ") END; WRITELINE;
    DELETE(c[12345]);
    c[7] := 5; WRITE(c[7]); WRITELINE
END Main;
