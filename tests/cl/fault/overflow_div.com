COMPONENT Main;
  VARIABLE i, j: INTEGER;
  BEGIN
    i := MIN(INTEGER); j := -1;
    WRITE(i DIV j)
END Main;
