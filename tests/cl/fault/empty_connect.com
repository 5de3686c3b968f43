INTERFACE Go; IN Now OUT Done END Go;
COMPONENT Part REQUIRES Go;
END Part;
COMPONENT Server OFFERS Go;
  IMPLEMENTATION Go;
    BEGIN ?Now; !Done
  END Go;
END Server;
COMPONENT Main;
  VARIABLE p: Part; s: Server;
  BEGIN
    NEW(p);
    CONNECT(Go(p), Go(s))
END Main;
