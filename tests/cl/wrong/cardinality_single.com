(* error[cardinality] in line 10: Ask is required once *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Client REQUIRES Ask;
  VARIABLE n: INTEGER;
  BEGIN Ask[1]!Get; Ask[2]?Is(n)
END Client;
COMPONENT Main;
  VARIABLE c: Client;
  BEGIN NEW(c)
END Main;
