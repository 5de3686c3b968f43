(* Whatever the order of a scope, who may still be called stays. *)
INTERFACE Log; IN Put(n: INTEGER) OUT Done END Log;
INTERFACE Pass; IN Give(n: INTEGER) OUT Done END Pass;
COMPONENT Paper OFFERS Log;
  VARIABLE sum: INTEGER;
  IMPLEMENTATION Log;
    VARIABLE n: INTEGER;
  BEGIN {EXCLUSIVE} ?Put(n); sum := sum + n; !Done
  END Log;
BEGIN sum := 0
FINALLY WRITE("sum "); WRITE(sum); WRITELINE
END Paper;
COMPONENT Middle OFFERS Pass REQUIRES Log;
  IMPLEMENTATION Pass;
    VARIABLE n: INTEGER;
  BEGIN ?Give(n); BEGIN {EXCLUSIVE} Log!Put(n); Log?Done END; !Done
  END Pass;
FINALLY Log!Put(1000); Log?Done
END Middle;
COMPONENT Worker REQUIRES Pass;
  VARIABLE i: INTEGER;
BEGIN i := 0
ACTIVITY {EXCLUSIVE} FOR i := 1 TO 20 DO Pass!Give(i); Pass?Done END
FINALLY Pass!Give(500); Pass?Done
END Worker;
COMPONENT {ENTRYPOINT} Main;
  PROCEDURE One;
    VARIABLE a: Paper; m: Middle; w: Worker;
  BEGIN NEW(a); NEW(m); NEW(w); CONNECT(Log(m), a); CONNECT(Pass(w), m)
  END One;
  PROCEDURE Two;
    VARIABLE w, w2: Worker; m: Middle; a: Paper;
  BEGIN NEW(w); NEW(w2); NEW(m); NEW(a); CONNECT(Pass(w), m); CONNECT(Pass(w2), m); CONNECT(Log(m), a)
  END Two;
  PROCEDURE Three;
    VARIABLE w[i: INTEGER]: Worker; m[k: TEXT]: Middle; a: Paper; i: INTEGER;
  BEGIN
    NEW(a); NEW(m["x"]); NEW(m["y"]); CONNECT(Log(m["x"]), a); CONNECT(Log(m["y"]), a);
    FOR i := 1 TO 10 DO NEW(w[i]); IF i MOD 2 = 0 THEN CONNECT(Pass(w[i]), m["x"]) ELSE CONNECT(Pass(w[i]), m["y"]) END END
  END Three;
BEGIN One; Two; Three
END Main;
