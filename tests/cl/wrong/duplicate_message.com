(* error[duplicate-message] in line 2: a message stands once in a protocol *)
INTERFACE Ask; IN Get OUT Is IN Get END Ask;
COMPONENT Main;
END Main;
