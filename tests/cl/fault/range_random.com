COMPONENT Main;
  VARIABLE low, high: INTEGER;
  BEGIN
    low := 2; high := 1;
    WRITE(RANDOM(low, high))
END Main;
