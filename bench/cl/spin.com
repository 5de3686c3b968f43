(* Hot loops that share the processor.
   Arguments: ACTIVITIES LOOPS, so many steps of each. Prints the sum of what they come to. *)

INTERFACE Spinning;
  IN Start(seed, loops: INTEGER) OUT Spun(x: INTEGER)
END Spinning;

COMPONENT Spinner OFFERS Spinning;
  IMPLEMENTATION Spinning;
    VARIABLE x, i, loops: INTEGER;
  BEGIN
    ?Start(x, loops);
    FOR i := 1 TO loops DO x := (x * 5 + i) MOD 8192 END;
    !Spun(x)
  END Spinning;
END Spinner;

COMPONENT {ENTRYPOINT} Spin REQUIRES Arguments;
  VARIABLE
    activities, loops, i, x, sum: INTEGER;
    spinner[seed: INTEGER]: Spinner;

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
  activities := Parameter(1); loops := Parameter(2)
ACTIVITY {EXCLUSIVE}
  FOR i := 1 TO activities DO
    NEW(spinner[i]);
    spinner[i]!Start(i, loops)
  END;
  sum := 0;
  FOR i := 1 TO activities DO
    spinner[i]?Spun(x);
    sum := sum + x
  END;
  WRITE(sum); WRITELINE
END Spin;
