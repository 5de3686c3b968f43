(* error[connect] in line 10: Server does not require Ask *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE a, b: Server;
  BEGIN NEW(a); NEW(b); CONNECT(Ask(a), Ask(b))
END Main;
