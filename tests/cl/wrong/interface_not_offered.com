(* error[not-offered] in line 11: Server does not offer Other *)
INTERFACE Other; IN Go OUT Gone END Other;
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server;
  BEGIN NEW(s); Other(s)!Go
END Main;
