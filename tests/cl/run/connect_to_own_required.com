(* CONNECT 2: a required interface of a sub-component with the own required one. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Server OFFERS I;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(2)
  END I;
END Server;
COMPONENT Client REQUIRES I;
  VARIABLE n: INTEGER;
  BEGIN I!Ask; I?Is(n); WRITE(n); WRITELINE
END Client;
COMPONENT Box REQUIRES I;
  VARIABLE c: Client;
  BEGIN NEW(c); CONNECT(I(c), I)
END Box;
COMPONENT Main;
  VARIABLE s: Server; b: Box;
  BEGIN NEW(s); NEW(b); CONNECT(I(b), I(s)); DELETE(b)
END Main;
