COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN
    i := MIN(INTEGER);
    i := -i
END Main;
