COMPONENT Main;
  VARIABLE x: REAL;
  BEGIN
    x := 0.0;
    WRITE(1 / x)
END Main;
