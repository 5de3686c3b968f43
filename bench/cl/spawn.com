(* Components whose server process waits for a message. The memory that the program takes while
   all are there is what they take, and the client's list of them.
   Argument: COUNT. Prints how many answered when they got their message. *)

INTERFACE Sleep;
  IN Lie OUT Asleep IN Wake OUT Awake(count: INTEGER)
END Sleep;

COMPONENT Sleeper OFFERS Sleep;
  IMPLEMENTATION Sleep;
  BEGIN
    ?Lie; !Asleep;
    ?Wake; !Awake(1)
  END Sleep;
END Sleeper;

COMPONENT {ENTRYPOINT} Spawn REQUIRES Arguments;
  VARIABLE
    count, i, one, alive: INTEGER;
    sleeper[number: INTEGER]: Sleeper {ARRAY};

  PROCEDURE Parameter(number: INTEGER): INTEGER;
    VARIABLE text: TEXT; at, value: INTEGER;
  BEGIN
    Arguments!Get(number); Arguments?Argument(text);
    value := 0; at := 0;
    WHILE (at < LENGTH(text)) AND (text[at] # 0X) DO
      value := value * 10 + INTEGER(text[at]) - 30H; (* 30H is the digit nought *)
      INC(at)
    END;
    RETURN value
  END Parameter;

BEGIN
  count := Parameter(1)
ACTIVITY {EXCLUSIVE}
  NEW(sleeper, count);
  FOR i := 0 TO count - 1 DO
    NEW(sleeper[i]);
    sleeper[i]!Lie; sleeper[i]?Asleep
  END;
  alive := 0;
  FOR i := 0 TO count - 1 DO
    sleeper[i]!Wake; sleeper[i]?Awake(one);
    alive := alive + one
  END;
  WRITE(alive); WRITELINE
END Spawn;
