(* CONNECT 4: an own offered interface with the offered one of a sub-component. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Server OFFERS I;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(4)
  END I;
END Server;
COMPONENT Front OFFERS I;
  VARIABLE s: Server;
  BEGIN NEW(s); CONNECT(I, I(s))
END Front;
COMPONENT Main;
  VARIABLE f: Front; n: INTEGER;
  BEGIN NEW(f); f!Ask; f?Is(n); WRITE(n); WRITELINE
END Main;
