(* How many of an interface there are, and which one is meant. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Server OFFERS I;
  IMPLEMENTATION I; BEGIN ?Ask; !Is(1) END I;
END Server;
COMPONENT Ports OFFERS I[1..3];
  IMPLEMENTATION I; BEGIN ?Ask; !Is(1) END I;
END Ports;
COMPONENT Client REQUIRES I[2..4];
  VARIABLE n: INTEGER; t: TEXT;
  BEGIN I[1]!Ask; I[1]?Is(n); I[n]!Ask; I[n]?Is(n); I!Ask; I[0]!Ask; I[5]!Ask; I[t]!Ask; n := COUNT(I); n := COUNT(I[1])
END Client;
COMPONENT Wrong REQUIRES I[3..2]; END Wrong;
COMPONENT Zero REQUIRES I[0]; END Zero;
COMPONENT Huge REQUIRES I[1..99999999999]; END Huge;
COMPONENT Maybe REQUIRES I[0..1]; BEGIN I!Ask END Maybe;
COMPONENT Main;
  VARIABLE s: Server; p: Ports; c: Client; m: Maybe; n, k: INTEGER;
  BEGIN
    NEW(s); NEW(p); NEW(c); NEW(m); k := 2;
    CONNECT(I[1](c), I(s)); CONNECT(I[k](c), I[2](p)); CONNECT(I[4](c), p); CONNECT(I(m), s); CONNECT(m, s);
    CONNECT(I(c), I(s)); CONNECT(I[5](c), I(s)); CONNECT(I[1](c), I[1](s)); CONNECT(I[1](m), I(s)); CONNECT(I[1](c), I[4](p)); CONNECT(c, s);
    I(p)!Ask; I(p)?Is(n); I[2](p)!Ask; I[2](p)?Is(n); I[1](s)!Ask; n := COUNT(I(c)); n := COUNT(I(s));
    DISCONNECT(I[1](c)); DISCONNECT(m); DISCONNECT(I(c)); DISCONNECT(c)
END Main;
