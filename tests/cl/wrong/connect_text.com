(* error[connect] in line 10: a TEXT has no interfaces *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server; t: TEXT;
  BEGIN NEW(s); CONNECT(Ask(t), Ask(s))
END Main;
