(* error[await] in line 11: a condition of AWAIT does not wait for a message; INPUT asks *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server; n: INTEGER;
  BEGIN NEW(s)
  ACTIVITY {EXCLUSIVE} s!Get; AWAIT(s?Is); s?Is(n)
END Main;
