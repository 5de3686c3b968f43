(* error[cardinality] in line 10: interfaces are counted from 1 *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Client REQUIRES Ask[1..*];
  VARIABLE n: INTEGER;
  BEGIN Ask[0]!Get; Ask[0]?Is(n)
END Client;
COMPONENT Main;
  VARIABLE c: Client;
  BEGIN NEW(c)
END Main;
