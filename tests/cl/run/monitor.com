(* Many processes change one variable under EXCLUSIVE: nothing is lost. *)
INTERFACE Add; { IN One OUT Ok } END Add;
COMPONENT Counter OFFERS Add;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Add;
    VARIABLE seen: INTEGER;
    BEGIN
      WHILE ?One DO
        ?One;
        BEGIN {EXCLUSIVE} seen := n; n := seen + 1 END;
        !Ok
      END
  END Add;
  FINALLY WRITE(n); WRITELINE
END Counter;
COMPONENT User REQUIRES Add;
  VARIABLE i: INTEGER;
  BEGIN FOR i := 1 TO 50 DO Add!One; Add?Ok END
END User;
COMPONENT Main;
  VARIABLE c: Counter; u[i: INTEGER]: User; i: INTEGER;
  BEGIN
    NEW(c);
    FOR i := 1 TO 20 DO NEW(u[i]); CONNECT(Add(u[i]), Add(c)) END;
    FOR i := 1 TO 20 DO DELETE(u[i]) END
END Main;
