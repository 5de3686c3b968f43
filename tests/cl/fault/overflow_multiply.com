COMPONENT Main;
  VARIABLE i, n: INTEGER;
  BEGIN
    n := 1;
    FOR i := 1 TO 25 DO n := n * i; WRITE(i); WRITE(" ") END
END Main;
