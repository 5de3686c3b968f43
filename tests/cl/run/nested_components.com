(* Components are declared inside components, and seen further in, not outside. *)
INTERFACE Name; IN Ask OUT Is(t: TEXT) END Name;
COMPONENT Main;
  COMPONENT Helper OFFERS Name;
    IMPLEMENTATION Name;
      BEGIN ?Ask; !Is("helper")
    END Name;
  END Helper;
  COMPONENT Box;
    VARIABLE h: Helper; t: TEXT;
    BEGIN NEW(h); h!Ask; h?Is(t); WRITE("box has "); WRITE(t); WRITELINE
  END Box;
  VARIABLE h: Helper; b: Box; t: TEXT;
  BEGIN
    NEW(h); h!Ask; h?Is(t); WRITE("main has "); WRITE(t); WRITELINE; NEW(b)
END Main;
