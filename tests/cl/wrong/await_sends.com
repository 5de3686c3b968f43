(* error[await] in line 15: a condition of AWAIT calls nothing that sends or receives *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server;
  PROCEDURE Asked(): BOOLEAN;
    VARIABLE n: INTEGER;
    BEGIN s!Get; s?Is(n); RETURN n > 0
  END Asked;
  BEGIN NEW(s)
  ACTIVITY {EXCLUSIVE} AWAIT(Asked())
END Main;
