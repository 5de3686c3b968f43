(* error[duplicate-name] in line 7: Ask is implemented twice *)
INTERFACE Ask; IN Get OUT Is END Ask;
COMPONENT Main OFFERS Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is
  END Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is
  END Ask;
END Main;
