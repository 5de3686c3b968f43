(* Producers and consumers with a buffer of 10, which is a component with a monitor.
   Arguments: PRODUCERS CONSUMERS ITEMS, so many items of each producer. Prints the sum of the
   items that were consumed. *)

INTERFACE Sink;
  { IN Put(x: INTEGER) } IN Last
END Sink;

(* The consumer says how many producers there are: nothing comes after the last of each. *)
INTERFACE Source;
  IN Open(producers: INTEGER) { OUT Item(x: INTEGER) } OUT Empty
END Source;

INTERFACE Produce;
  IN Begin(items: INTEGER)
END Produce;

INTERFACE Consume;
  IN Take(producers: INTEGER) OUT Sum(sum: INTEGER)
END Consume;

COMPONENT Buffer OFFERS Sink, Source;
  CONSTANT SIZE = 10;
  VARIABLE
    slot[at: INTEGER]: INTEGER {ARRAY};
    first, count, producers, ended: INTEGER;

  IMPLEMENTATION Sink;
    VARIABLE x: INTEGER;
  BEGIN
    WHILE ?Put DO
      ?Put(x);
      BEGIN {EXCLUSIVE}
        AWAIT(count < SIZE);
        slot[(first + count) MOD SIZE] := x;
        INC(count)
      END
    END;
    ?Last;
    BEGIN {EXCLUSIVE} INC(ended) END
  END Sink;

  IMPLEMENTATION Source;
    VARIABLE x, all: INTEGER; more: BOOLEAN;
  BEGIN
    ?Open(all);
    BEGIN {EXCLUSIVE} producers := all END;
    REPEAT
      BEGIN {EXCLUSIVE}
        AWAIT((count > 0) OR (ended = producers));
        more := count > 0;
        IF more THEN
          x := slot[first];
          first := (first + 1) MOD SIZE;
          DEC(count)
        END
      END;
      IF more THEN !Item(x) END
    UNTIL ~more;
    !Empty
  END Source;

BEGIN
  NEW(slot, SIZE);
  first := 0; count := 0; producers := 0; ended := 0
END Buffer;

COMPONENT Producer OFFERS Produce REQUIRES Sink;
  IMPLEMENTATION Produce;
    VARIABLE x, items: INTEGER;
  BEGIN
    ?Begin(items);
    BEGIN {EXCLUSIVE}
      FOR x := 1 TO items DO Sink!Put(x) END;
      Sink!Last
    END
  END Produce;
END Producer;

COMPONENT Consumer OFFERS Consume REQUIRES Source;
  IMPLEMENTATION Consume;
    VARIABLE x, sum, producers: INTEGER;
  BEGIN
    ?Take(producers);
    sum := 0;
    BEGIN {EXCLUSIVE}
      Source!Open(producers);
      WHILE Source?Item DO
        Source?Item(x);
        sum := sum + x
      END;
      Source?Empty
    END;
    !Sum(sum)
  END Consume;
END Consumer;

COMPONENT {ENTRYPOINT} Prodcons REQUIRES Arguments;
  VARIABLE
    producers, consumers, items, i, sum, total: INTEGER;
    buffer: Buffer;
    producer[number: INTEGER]: Producer;
    consumer[number: INTEGER]: Consumer;

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
  producers := Parameter(1); consumers := Parameter(2); items := Parameter(3)
ACTIVITY {EXCLUSIVE}
  NEW(buffer);
  FOR i := 1 TO producers DO
    NEW(producer[i]);
    CONNECT(Sink(producer[i]), Sink(buffer))
  END;
  FOR i := 1 TO consumers DO
    NEW(consumer[i]);
    CONNECT(Source(consumer[i]), Source(buffer))
  END;
  FOR i := 1 TO consumers DO consumer[i]!Take(producers) END;
  FOR i := 1 TO producers DO producer[i]!Begin(items) END;
  total := 0;
  FOR i := 1 TO consumers DO
    consumer[i]?Sum(sum);
    total := total + sum
  END;
  WRITE(total); WRITELINE
END Prodcons;
