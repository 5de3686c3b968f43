(* CONNECT 1: a required interface of a sub-component with an offered one of another. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Server OFFERS I;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(1)
  END I;
END Server;
COMPONENT Client REQUIRES I;
  VARIABLE n: INTEGER;
  BEGIN I!Ask; I?Is(n); WRITE(n); WRITELINE
END Client;
COMPONENT Main;
  VARIABLE s: Server; c: Client;
  BEGIN NEW(s); NEW(c); CONNECT(I(c), I(s)); DELETE(c)
END Main;
