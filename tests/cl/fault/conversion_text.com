COMPONENT Main;
  VARIABLE t: TEXT;
  BEGIN
    t := "12x";
    WRITE(INTEGER(t))
END Main;
