(* Two SHARED readers are in the monitor at the same time: each waits there for the other. *)
INTERFACE Meet; IN Come OUT Met END Meet;
INTERFACE Pair; IN Here OUT Both END Pair;
COMPONENT Pairing OFFERS Pair;
  VARIABLE here: INTEGER;
  IMPLEMENTATION Pair;
    BEGIN {EXCLUSIVE} ?Here; INC(here); AWAIT(here = 2); !Both
  END Pair;
END Pairing;
COMPONENT Guest OFFERS Meet;
  VARIABLE p: Pairing;
  IMPLEMENTATION Meet;
    BEGIN {SHARED} ?Come; p!Here; p?Both; !Met
  END Meet;
  BEGIN NEW(p)
END Guest;
COMPONENT Caller REQUIRES Meet;
  BEGIN Meet!Come; Meet?Met; WRITE("met ")
END Caller;
COMPONENT Main;
  VARIABLE g: Guest; a, b: Caller;
  BEGIN NEW(g); NEW(a); NEW(b); CONNECT(Meet(a), Meet(g)); CONNECT(Meet(b), Meet(g));
    DELETE(a); DELETE(b); WRITELINE
END Main;
