(* CONNECT 6: an own offered interface with the own implementation, which is also what it is without. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Server OFFERS I;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(6)
  END I;
  BEGIN CONNECT(I, I)
END Server;
COMPONENT Main;
  VARIABLE s: Server; n: INTEGER;
  BEGIN NEW(s); s!Ask; s?Is(n); WRITE(n); WRITELINE
END Main;
