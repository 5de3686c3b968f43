INTERFACE Go; IN Now OUT Done END Go;
COMPONENT Part OFFERS Go;
  IMPLEMENTATION Go;
    BEGIN ?Now; !Done
  END Go;
END Part;
COMPONENT Main;
  VARIABLE p: Part;
  BEGIN
    NEW(p); p!Now; p?Done; DELETE(p);
    p!Now
END Main;
