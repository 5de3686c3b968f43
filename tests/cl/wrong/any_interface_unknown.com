(* error[not-offered] in line 10: it is not known that x offers Ask *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE x: ANY;
  BEGIN NEW(x, Server); Ask(x)!Get
END Main;
