COMPONENT Main;
  VARIABLE t: TEXT;
  BEGIN
    t := "one";
    WRITE(REAL(t))
END Main;
