INTERFACE Talk; IN Hello { OUT Word(n: INTEGER) } END Talk;
COMPONENT Speaker OFFERS Talk;
  IMPLEMENTATION Talk;
    BEGIN
      ?Hello; !Word(1)
  END Talk;
END Speaker;
COMPONENT Main;
  VARIABLE s: Speaker; n: INTEGER;
  BEGIN
    NEW(s); s!Hello;
    s?Word(n); WRITE(n); WRITELINE;
    s?Word(n)
END Main;
