(* error[type] in line 10: the message brings an INTEGER, the variable is a TEXT *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server; t: TEXT;
  BEGIN NEW(s); s!Get; s?Is(t)
END Main;
