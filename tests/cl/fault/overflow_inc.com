COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN
    i := MAX(INTEGER);
    DEC(i, 5); INC(i, 5);
    INC(i)
END Main;
