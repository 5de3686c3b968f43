INTERFACE Talk; { IN Question | OUT Answer } IN Bye END Talk;
COMPONENT Silent OFFERS Talk;
  IMPLEMENTATION Talk;
    BEGIN ?Question; ?Question; !Answer
  END Talk;
END Silent;
COMPONENT Main;
  VARIABLE s: Silent;
  BEGIN
    NEW(s); s!Question; PASSIVATE(10); s?Answer
END Main;
