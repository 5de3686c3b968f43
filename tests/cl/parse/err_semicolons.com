COMPONENT A
  VARIABLE x: INTEGER y: REAL
  PROCEDURE P
  BEGIN
    x := 1
    y := 2
    IF a THEN b END
    f(x)
    !M
    NEW(x)
  END P
  CONSTANT a = 1 b = 2;
  BEGIN x := 1 2; x := (1)) ; x
END A
