(* A server loops until FINISH. *)
INTERFACE Numbers; { IN Put(n: INTEGER) } END Numbers;
COMPONENT Sum OFFERS Numbers;
  VARIABLE total: INTEGER;
  IMPLEMENTATION Numbers;
    VARIABLE n: INTEGER;
    BEGIN
      WHILE ~?FINISH DO ?Put(n); BEGIN {EXCLUSIVE} total := total + n END END
  END Numbers;
  FINALLY WRITE(total); WRITELINE
END Sum;
COMPONENT Main;
  VARIABLE s: Sum;
  PROCEDURE Feed;
    VARIABLE i: INTEGER;
    BEGIN FOR i := 1 TO 10 DO s!Put(i) END
  END Feed;
  BEGIN NEW(s); Feed; Feed
END Main;
