COMPONENT A;
  CONSTANT a := 1; b: 2; c = 3;
  BEGIN
    x = 1; y[1] = 2; Service(x) = 3; FOR i = 1 TO 3 DO a END;
    IF a == b THEN c END; IF a != b THEN c END; IF a <> b THEN c END; IF a := b THEN c END;
    x := a < b < c; x := ; x := a +; x := (a; x := f(a; x := f(a b); x := a[1; x : = 1;
    x := !a; x := a.b; y := 1
END A;
