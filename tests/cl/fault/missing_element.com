COMPONENT Main;
  VARIABLE c[k: TEXT]: INTEGER;
  BEGIN
    c["a"] := 1; WRITE(c["a"]); WRITELINE;
    WRITE(c["b"])
END Main;
