(* error[connect] in line 12: Client does not offer Ask *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Client REQUIRES Ask;
END Client;
COMPONENT Main;
  VARIABLE a, b: Client;
  BEGIN NEW(a); NEW(b); CONNECT(Ask(a), Ask(b))
END Main;
