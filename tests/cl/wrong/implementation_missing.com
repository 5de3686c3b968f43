(* error[implementation-missing] in line 3: Ask is offered, but neither implemented nor connected *)
INTERFACE Ask; IN Get OUT Is END Ask;
COMPONENT Part OFFERS Ask;
END Part;
COMPONENT Main;
  VARIABLE p: Part;
  BEGIN NEW(p)
END Main;
