(* A collection grows and shrinks. *)
COMPONENT Main;
  VARIABLE c[k: INTEGER]: INTEGER; i, n, sum: INTEGER;
  BEGIN
    FOR i := 0 TO 1999 DO c[i * 7919 MOD 2000] := i END;
    n := 0; FOREACH i OF c DO INC(n) END; WRITE(n); WRITELINE;
    FOR i := 0 TO 1999 BY 2 DO DELETE(c[i]) END;
    n := 0; sum := 0;
    FOREACH i OF c DO INC(n); sum := sum + i END;
    WRITE(n); WRITE(" "); WRITE(sum); WRITELINE
END Main;
