INTERFACE Door; IN Open { IN Enter } IN Shut OUT Done END Door;
COMPONENT Room OFFERS Door;
  IMPLEMENTATION Door;
    BEGIN
      ?Open; WHILE ?Enter DO ?Enter END; ?Shut; !Done
  END Door;
END Room;
COMPONENT Main;
  VARIABLE r: Room; i: INTEGER;
  BEGIN
    NEW(r); IF RANDOM(1, 1) = 1 THEN r!Open END;
    FOR i := 1 TO 2 DO
      IF i = RANDOM(1, 1) THEN r!Enter ELSE r!Open END
    END;
    r!Shut; r?Done
END Main;
