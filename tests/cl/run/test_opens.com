(* `?M` as an expression opens a communication that begins with OUT, waits and compares; through a required interface and without one, several clients at once. *)
INTERFACE Numbers; { OUT Num(x: INTEGER) } OUT Fin END Numbers;

COMPONENT Generator OFFERS Numbers;
  IMPLEMENTATION Numbers;
    VARIABLE i: INTEGER;
    BEGIN
      FOR i := 1 TO 10 DO !Num(i) END;
      !Fin
  END Numbers;
END Generator;

INTERFACE Sum; IN Get OUT Sum(x: INTEGER) END Sum;

COMPONENT Adder OFFERS Sum REQUIRES Numbers;
  VARIABLE sum: INTEGER; done: BOOLEAN;
  IMPLEMENTATION Sum;
    BEGIN ?Get; BEGIN {EXCLUSIVE} AWAIT(done); !Sum(sum) END
  END Sum;
  PROCEDURE Add;
    VARIABLE x: INTEGER;
    BEGIN
      WHILE Numbers?Num DO Numbers?Num(x); INC(sum, x) END;
      Numbers?Fin
  END Add;
  ACTIVITY {EXCLUSIVE} Add; Add; done := TRUE
END Adder;

COMPONENT Main;
  VARIABLE g: Generator; adder[i: INTEGER]: Adder; i, x, sum: INTEGER;
  BEGIN
    NEW(g);
    FOR i := 1 TO 5 DO NEW(adder[i]); CONNECT(Numbers(adder[i]), g) END;
    WHILE g?Num DO g?Num(x); INC(sum, x) END;
    g?Fin;
    WHILE g?Num DO g?Num(x); INC(sum, x) END;
    IF g?Fin THEN g?Fin; WRITE(sum); WRITELINE END;
    FOR i := 1 TO 5 DO adder[i]!Get; adder[i]?Sum(x); WRITE(x); WRITE(" ") END;
    WRITELINE
END Main;
