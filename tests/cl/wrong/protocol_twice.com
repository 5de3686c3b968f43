(* error[protocol] in line 10: Get cannot follow Get *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server; n: INTEGER;
  BEGIN NEW(s); s!Get; s!Get
END Main;
