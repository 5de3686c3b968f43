(* error[cardinality] in line 12: Ask is required 2 times, here is the third *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Client REQUIRES Ask[1..2];
END Client;
COMPONENT Main;
  VARIABLE s: Server; c: Client;
  BEGIN NEW(s); NEW(c); CONNECT(Ask[3](c), Ask(s))
END Main;
