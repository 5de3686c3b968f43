(* ?FINISH holds when the client has closed, and ?ANY both then and while a message is there. *)
INTERFACE Numbers; { IN Put(n: INTEGER) | IN Skip } END Numbers;
COMPONENT Sum OFFERS Numbers;
  VARIABLE total, skipped, finished: INTEGER;
  IMPLEMENTATION Numbers;
    VARIABLE n: INTEGER;
    BEGIN
      WHILE ~?FINISH DO {EXCLUSIVE}
        IF ?Put THEN ?Put(n); total := total + n ELSE ?Skip; INC(skipped) END
      END;
      BEGIN {EXCLUSIVE} IF ?ANY AND ?FINISH THEN INC(finished) END END
  END Numbers;
  FINALLY WRITE(total); WRITE(" "); WRITE(skipped); WRITE(" "); WRITE(finished); WRITELINE
END Sum;
COMPONENT User REQUIRES Numbers;
  CONSTANT Rounds = 5;
  VARIABLE i: INTEGER;
  BEGIN
    FOR i := 1 TO Rounds DO Numbers!Put(i); Numbers!Skip END
END User;
COMPONENT Main;
  VARIABLE s: Sum; a, b: User;
  BEGIN
    NEW(s); NEW(a); NEW(b);
    CONNECT(Numbers(a), Numbers(s)); CONNECT(Numbers(b), Numbers(s));
    DELETE(a); DELETE(b)
END Main;
