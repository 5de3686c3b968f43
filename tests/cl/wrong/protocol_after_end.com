(* error[protocol] in line 5: nothing can follow Is *)
INTERFACE Ask; IN Get OUT Is END Ask;
COMPONENT Main OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is; !Is
  END Ask;
END Main;
