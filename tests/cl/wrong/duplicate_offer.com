(* error[duplicate-name] in line 3: the interface is offered twice *)
INTERFACE Ask; IN Get OUT Is END Ask;
COMPONENT Main OFFERS Ask, Ask;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is
  END Ask;
END Main;
