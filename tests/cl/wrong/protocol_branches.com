(* error[protocol] in line 13: Second cannot follow Second, whichever way was taken *)
INTERFACE Two; IN First IN Second OUT Done END Two;
COMPONENT Part OFFERS Two;
  IMPLEMENTATION Two;
    BEGIN ?First; ?Second; !Done
  END Two;
END Part;
COMPONENT Main;
  VARIABLE p: Part; i: INTEGER;
  BEGIN
    NEW(p); i := RANDOM(0, 1); p!First;
    IF i = 0 THEN p!Second; WRITE("a") ELSE p!Second; WRITE("b") END;
    p!Second
END Main;
