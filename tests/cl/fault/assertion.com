COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN
    i := 1; ASSERT(i = 1);
    ASSERT(i = 2)
END Main;
