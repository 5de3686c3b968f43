COMPONENT A;
  BEGIN
    42; "text"; ) ; x[1]; Service(x); f(1 + 2)!M; f(a, b) := 3; x?ANY; x?FINISH(a); x!; ?; x := ;
    {SHARED} x := 1; OR a; NEW x; NEW(); CONNECT(a); MOVE(a, b, c); DELETE(1); AWAIT x;
    FOR 1 TO 2 DO a END; FOREACH OF c DO a END; FOR i := 1 DO b END; IF THEN a END; IF a b := 1 END;
    WHILE x) DO a END; IF x THEN y := (1 ELSE z END; REPEAT a UNTIL; x := 1;
    WRITE "x"; INPUT(x, M); EXISTS(x); THEN x; x, y := 1; RETURN END; x := 2
END A;
COMPONENT B; BEGIN y := z( END B;
