(*
  Dining philosophers. A fork is a component; a philosopher takes the one with the lower number
  first, so no circle of waiting can come about.
*)
INTERFACE Fork;
  { IN Take OUT Taken IN PutDown OUT Down }
END Fork;

COMPONENT TableFork OFFERS Fork;
  VARIABLE free: BOOLEAN; meals: INTEGER;
  IMPLEMENTATION Fork;
    BEGIN
      WHILE ?Take DO
        BEGIN {EXCLUSIVE} ?Take; AWAIT(free); free := FALSE; !Taken END;
        ?PutDown;
        BEGIN {EXCLUSIVE} free := TRUE; INC(meals) END;
        !Down
      END
  END Fork;
  BEGIN free := TRUE; meals := 0
  FINALLY ASSERT(free); ASSERT(meals MOD 2 = 0)
END TableFork;

COMPONENT Philosopher REQUIRES Fork[2];
  CONSTANT Meals = 20;
  VARIABLE meal: INTEGER;
  BEGIN
    FOR meal := 1 TO Meals DO
      Fork[1]!Take; Fork[1]?Taken;
      Fork[2]!Take; Fork[2]?Taken;
      Fork[2]!PutDown; Fork[2]?Down;
      Fork[1]!PutDown; Fork[1]?Down
    END
END Philosopher;

COMPONENT Dinner REQUIRES Arguments;
  VARIABLE
    fork[number: INTEGER]: TableFork; philosopher[number: INTEGER]: Philosopher;
    guests, i: INTEGER; text: TEXT;
  BEGIN
    Arguments!Get(1); Arguments?Argument(text);
    IF text = "" THEN guests := 5 ELSE guests := INTEGER(text) END;
    ASSERT(guests >= 2);
    FOR i := 1 TO guests DO NEW(fork[i]) END;
    FOR i := 1 TO guests DO
      NEW(philosopher[i]);
      IF i < guests THEN
        CONNECT(Fork[1](philosopher[i]), Fork(fork[i]));
        CONNECT(Fork[2](philosopher[i]), Fork(fork[i + 1]))
      ELSE
        CONNECT(Fork[1](philosopher[i]), Fork(fork[1]));
        CONNECT(Fork[2](philosopher[i]), Fork(fork[i]))
      END
    END;
    FOR i := 1 TO guests DO DELETE(philosopher[i]) END;
    WRITE(guests); WRITE(" philosophers have eaten"); WRITELINE
END Dinner;
