(* error[connect] in line 14: Ask and Other are different interfaces *)
INTERFACE Other; IN Go OUT Gone END Other;
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Client REQUIRES Other;
  BEGIN Other!Go; Other?Gone
END Client;
COMPONENT Main;
  VARIABLE c: Client; s: Server;
  BEGIN NEW(c); NEW(s); CONNECT(Other(c), Ask(s))
END Main;
