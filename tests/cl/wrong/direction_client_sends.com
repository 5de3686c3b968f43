(* error[direction] in line 10: Is is sent by the server *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server; n: INTEGER;
  BEGIN NEW(s); s!Get; s!Is(1)
END Main;
