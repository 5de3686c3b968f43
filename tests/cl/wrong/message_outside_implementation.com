(* error[no-client] in line 7: only an IMPLEMENTATION has a client *)
INTERFACE Ask; IN Get OUT Is END Ask;
COMPONENT Main OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is
  END Ask;
  BEGIN !Is
END Main;
