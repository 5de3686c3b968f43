(* error[direction] in line 10: Get is sent by the client and cannot be waited for here *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Server OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(1)
  END Ask;
END Server;
COMPONENT Main;
  VARIABLE s: Server;
  BEGIN NEW(s); s!Get; IF s?Get THEN WRITELINE END
END Main;
