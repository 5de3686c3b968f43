(* error[protocol] in line 5: Is cannot be sent before Get *)
INTERFACE Ask; IN Get OUT Is END Ask;
COMPONENT Main OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN !Is; ?Get
  END Ask;
END Main;
