(* error[direction] in line 5: Get is sent by the client *)
INTERFACE Ask; IN Get OUT Is END Ask;
COMPONENT Main OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN !Get
  END Ask;
END Main;
