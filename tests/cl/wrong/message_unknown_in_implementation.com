(* error[unknown-message] in line 5: Ask has no message Put *)
INTERFACE Ask; IN Get OUT Is END Ask;
COMPONENT Main OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Put; !Is
  END Ask;
END Main;
