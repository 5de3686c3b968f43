(* error[type] in line 12: Part does not offer Ask *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Part;
END Part;
COMPONENT Main;
  VARIABLE x: ANY(Ask);
  BEGIN NEW(x, Part)
END Main;
