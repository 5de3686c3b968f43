(* error[connect] in line 10: DISCONNECT takes what CONNECT takes first *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server;
  BEGIN NEW(s); DISCONNECT(Ask(s))
END Main;
