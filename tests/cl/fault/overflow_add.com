COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN
    i := MAX(INTEGER) - 1;
    i := i + 1; WRITE(i); WRITELINE;
    i := i + 1; WRITE(i)
END Main;
