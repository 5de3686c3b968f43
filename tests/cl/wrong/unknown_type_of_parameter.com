(* error[unknown-type] in line 2: there is no type of this name *)
INTERFACE Ask; IN Get(x: Thing) END Ask;
COMPONENT Main;
END Main;
