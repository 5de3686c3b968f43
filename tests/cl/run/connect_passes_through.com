(* CONNECT 5: an own offered interface with the own required one. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Server OFFERS I;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(5)
  END I;
END Server;
COMPONENT Relay OFFERS I REQUIRES I;
  BEGIN CONNECT(I, I)
END Relay;
COMPONENT Main;
  VARIABLE s: Server; r: Relay; n: INTEGER;
  BEGIN
    NEW(s); NEW(r); CONNECT(I(r), I(s));
    r!Ask; r?Is(n); WRITE(n); WRITELINE
END Main;
