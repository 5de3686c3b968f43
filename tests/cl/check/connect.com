(* The six forms of CONNECT, and what does not connect. *)
INTERFACE I; IN Ask OUT Is END I;
INTERFACE J; IN Ask OUT Is END J;
COMPONENT Server OFFERS I;
  IMPLEMENTATION I; BEGIN ?Ask; !Is END I;
END Server;
COMPONENT Both OFFERS I, J;
  IMPLEMENTATION I; BEGIN ?Ask; !Is END I;
  IMPLEMENTATION J; BEGIN ?Ask; !Is END J;
END Both;
COMPONENT Client REQUIRES I; BEGIN I!Ask; I?Is END Client;
COMPONENT ClientBoth REQUIRES I, J; BEGIN I!Ask; I?Is; J!Ask; J?Is END ClientBoth;
COMPONENT Form1; VARIABLE s: Server; c: Client; b: Both; BEGIN NEW(s); NEW(c); NEW(b); CONNECT(I(c), I(s)); CONNECT(c, I(s)); CONNECT(I(c), s); CONNECT(c, s); CONNECT(c, b) END Form1;
COMPONENT Form2 REQUIRES I; VARIABLE c: Client; BEGIN NEW(c); CONNECT(I(c), I); CONNECT(c, I) END Form2;
COMPONENT Form3; VARIABLE c: Client; IMPLEMENTATION I; BEGIN ?Ask; !Is END I; BEGIN NEW(c); CONNECT(I(c), I) END Form3;
COMPONENT Form4 OFFERS I; VARIABLE s: Server; BEGIN NEW(s); CONNECT(I, I(s)); CONNECT(I, s); DISCONNECT(I) END Form4;
COMPONENT Form5 OFFERS I REQUIRES I; BEGIN CONNECT(I, I) END Form5;
COMPONENT Form6 OFFERS I; IMPLEMENTATION I; BEGIN ?Ask; !Is END I; BEGIN CONNECT(I, I) END Form6;
COMPONENT Missing OFFERS I; END Missing;
COMPONENT Idle; IMPLEMENTATION I; BEGIN ?Ask; !Is END I; END Idle;
COMPONENT Wrong OFFERS J;
  VARIABLE s: Server; b: Both; c: Client; d: ClientBoth; t: TEXT; a[k: INTEGER]: Client; x: ANY; y: ANY(I); z: ANY(|I);
  IMPLEMENTATION J; BEGIN ?Ask; !Is END J;
  BEGIN
    NEW(s); NEW(b); NEW(c); NEW(d); NEW(a[1]); NEW(x, Server); NEW(y, Server); NEW(z, Client);
    CONNECT(I(c), y); CONNECT(z, s); CONNECT(I(a[1]), s); IF x OFFERS I THEN CONNECT(c, I(x)) END;
    CONNECT(I(s), I(s)); CONNECT(I(c), I(c)); CONNECT(I(c), J(b)); CONNECT(I(t), I(s)); CONNECT(I(c), I(t)); CONNECT(I(c), I); CONNECT(I, I(s));
    CONNECT(J(c), J(b)); CONNECT(s, c); CONNECT(d, b); CONNECT(a, s); CONNECT(Nothing(c), s); CONNECT(c, nothing); CONNECT(t, s); CONNECT(I(c), x); CONNECT(I(x), s);
    CONNECT(I(Server), s); CONNECT(J, J(c)); DISCONNECT(I(s)); DISCONNECT(I); DISCONNECT(d); DISCONNECT(t); DISCONNECT(J)
END Wrong;
COMPONENT Main; VARIABLE i: Idle; w: Wrong; m: Missing; BEGIN NEW(i); NEW(w); NEW(m) END Main;
