INTERFACE Go; IN Now OUT Done END Go;
COMPONENT Part OFFERS Go;
  IMPLEMENTATION Go;
    BEGIN ?Now; !Done
  END Go;
END Part;
COMPONENT Main;
  VARIABLE p, q: Part;
  BEGIN
    NEW(p); MOVE(p, q); q!Now; q?Done;
    MOVE(p, q)
END Main;
