(* Who uses an unconnected interface waits until it is connected. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Server OFFERS I;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(1)
  END I;
END Server;
COMPONENT Client REQUIRES I;
  VARIABLE n: INTEGER;
  BEGIN WRITE("before "); I!Ask; I?Is(n); WRITE("after"); WRITELINE
END Client;
COMPONENT Main;
  VARIABLE s: Server; c: Client;
  BEGIN
    NEW(c); PASSIVATE(10); WRITE("connect "); NEW(s); CONNECT(I(c), I(s)); DELETE(c)
END Main;
