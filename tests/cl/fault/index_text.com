COMPONENT Main;
  VARIABLE t: TEXT; c: CHARACTER; i: INTEGER;
  BEGIN
    t := "abc";
    FOR i := 0 TO LENGTH(t) DO c := t[i]; WRITE(c) END
END Main;
