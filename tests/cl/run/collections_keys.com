(* Several keys of different types; FOREACH goes through them in ascending order, the first key first. *)
COMPONENT Main;
  VARIABLE c[n: INTEGER; t: TEXT; b: BOOLEAN]: INTEGER; x[c: CHARACTER]: INTEGER;
    n: INTEGER; t: TEXT; b: BOOLEAN; ch: CHARACTER;
  BEGIN
    c[2, "a", TRUE] := 1; c[1, "z", FALSE] := 2; c[2, "a", FALSE] := 3; c[1, "b", TRUE] := 4; c[-1, "q", TRUE] := 5;
    FOREACH n, t, b OF c DO
      WRITE(n); WRITE(t); WRITE(b); WRITE(c[n, t, b]); WRITE(" ")
    END;
    WRITELINE;
    WRITE(EXISTS(c[2, "a", TRUE])); WRITE(EXISTS(c[2, "b", TRUE])); WRITELINE;
    DELETE(c[2, "a", TRUE]); WRITE(EXISTS(c[2, "a", TRUE])); WRITE(EXISTS(c[2, "a", FALSE])); WRITELINE;
    x["b"] := 1; x["B"] := 2; x[0FFX] := 3; x["a"] := 4;
    FOREACH ch OF x DO WRITE(INTEGER(ch)); WRITE(" ") END; WRITELINE
END Main;
