INTERFACE Go; IN Now OUT Done END Go;
COMPONENT Inner OFFERS Go;
  IMPLEMENTATION Go;
    BEGIN ?Now; HALT(2)
  END Go;
END Inner;
COMPONENT Middle OFFERS Go;
  VARIABLE i: Inner;
  IMPLEMENTATION Go;
    BEGIN {EXCLUSIVE}
      ?Now; i!Now; i?Done; !Done
  END Go;
  BEGIN NEW(i)
END Middle;
COMPONENT Main;
  VARIABLE m: Middle;
  BEGIN
    NEW(m); m!Now; m?Done
END Main;
