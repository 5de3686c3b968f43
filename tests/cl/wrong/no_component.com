(* error[no-entry] in line 2: there is no component to start *)
INTERFACE Ask; IN Get END Ask;
