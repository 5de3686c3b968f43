INTERFACE Ask; IN Get(n: INTEGER) ( OUT Small | OUT Big OUT Very ) END Ask;
COMPONENT Judge OFFERS Ask;
  IMPLEMENTATION Ask;
    VARIABLE n: INTEGER;
    BEGIN
      ?Get(n);
      IF n < 10 THEN !Small ELSE !Big END;
      IF n > 5 THEN !Very END
  END Ask;
END Judge;
COMPONENT Main;
  VARIABLE j: Judge;
  BEGIN
    NEW(j);
    j!Get(3); j?Small; j!Get(20); j?Big; j?Very; WRITE("fine"); WRITELINE;
    j!Get(7);
    WHILE ~FAILED(j) DO PASSIVATE(1) END; WRITE("failed"); WRITELINE
END Main;
