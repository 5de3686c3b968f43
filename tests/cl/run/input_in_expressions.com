(* INPUT and ?M as parts of larger expressions, with FINISH, on a set of servers. *)
INTERFACE N; OUT First { OUT Num(n: INTEGER) | IN More(n: INTEGER) } END N;
COMPONENT Server OFFERS N;
  IMPLEMENTATION N;
    VARIABLE k, i: INTEGER;
  BEGIN
    !First;
    WHILE ?More DO ?More(k); FOR i := 1 TO k DO !Num(i) END END
  END N;
END Server;
COMPONENT {ENTRYPOINT} Main;
  VARIABLE s[i: INTEGER]: Server; i, n, sum: INTEGER;
BEGIN
  sum := 0;
  FOR i := 1 TO 4 DO NEW(s[i]) END;
  FOR i := 1 TO 4 DO IF s[i]?First AND ~(s[i]?Num OR s[i]?FINISH) THEN s[i]?First END; s[i]!More(i) END;
  FOR i := 4 TO 1 BY -1 DO
    WHILE (n < i) AND s[i]?Num DO s[i]?Num(n); sum := sum + n; WRITE(n); WRITE(" ") END; n := 0;
    IF ~INPUT(s[i], ANY) AND (i MOD 2 = 0) THEN s[i]!More(1); s[i]?Num(n); WRITE("+"); WRITE(n); WRITE(" "); n := 0 END
  END;
  WRITE(sum); WRITELINE
END Main;
