(* error[no-entry] in line 8: Ask, which the entry requires, is no system interface *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main REQUIRES Ask;
  BEGIN Ask!Get
END Main;
