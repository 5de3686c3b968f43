(* error[type] in line 12: a Client does not fit a variable of type Server *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Client REQUIRES Ask;
END Client;
COMPONENT Main;
  VARIABLE s: Server; c: Client;
  BEGIN NEW(c); MOVE(c, s)
END Main;
