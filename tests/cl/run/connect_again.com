(* DISCONNECT, and CONNECT to another server. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
INTERFACE Go; IN Ask OUT Done END Go;
COMPONENT One OFFERS I;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(1)
  END I;
END One;
COMPONENT Two OFFERS I;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(2)
  END I;
END Two;
COMPONENT Client OFFERS Go REQUIRES I;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Go;
    BEGIN {EXCLUSIVE} ?Ask; I!Ask; I?Is(n); WRITE(n); !Done
  END Go;
END Client;
COMPONENT Main;
  VARIABLE one: One; two: Two; c: Client;
  BEGIN
    NEW(one); NEW(two); NEW(c);
    CONNECT(I(c), one); Go(c)!Ask; Go(c)?Done;
    DISCONNECT(I(c)); CONNECT(I(c), two); Go(c)!Ask; Go(c)?Done;
    DISCONNECT(I(c)); DELETE(one); CONNECT(I(c), I(two)); Go(c)!Ask; Go(c)?Done; WRITELINE
END Main;
