(* error[connect] in line 12: Main neither requires nor implements Ask *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Client REQUIRES Ask;
END Client;
COMPONENT Main;
  VARIABLE c: Client;
  BEGIN NEW(c); CONNECT(Ask(c), Ask)
END Main;
