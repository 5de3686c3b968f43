(*
  Producers and consumers around a bounded buffer.

  The buffer is a component with two interfaces. Every producer and every consumer has a server
  process of its own there; AWAIT holds them back while the buffer is full or empty.
*)
INTERFACE Acceptor;
  { IN Put(x: INTEGER) } IN End
END Acceptor;

INTERFACE Source;
  { IN Get ( OUT Item(x: INTEGER) | OUT Nothing ) }
END Source;

INTERFACE Work;
  IN Start(count: INTEGER)
END Work;

INTERFACE Result;
  IN Ask OUT Total(count, sum: INTEGER)
END Result;

COMPONENT Buffer OFFERS Acceptor, Source, Work;
  CONSTANT Capacity = 10;
  VARIABLE item[position: INTEGER]: INTEGER {ARRAY}; first, last, producers: INTEGER;

  IMPLEMENTATION Work;
    BEGIN {EXCLUSIVE} ?Start(producers)
  END Work;

  IMPLEMENTATION Acceptor;
    VARIABLE x: INTEGER;
    BEGIN
      WHILE ?Put DO {EXCLUSIVE}
        ?Put(x); AWAIT(last - first < Capacity);
        item[last MOD Capacity] := x; INC(last)
      END;
      ?End;
      BEGIN {EXCLUSIVE} DEC(producers) END
  END Acceptor;

  IMPLEMENTATION Source;
    BEGIN
      WHILE ?Get DO {EXCLUSIVE}
        ?Get; AWAIT((first < last) OR (producers = 0));
        IF first < last THEN !Item(item[first MOD Capacity]); INC(first) ELSE !Nothing END
      END
  END Source;

  BEGIN
    NEW(item, Capacity); first := 0; last := 0; producers := MAX(INTEGER)
END Buffer;

COMPONENT Producer OFFERS Work REQUIRES Acceptor;
  IMPLEMENTATION Work;
    VARIABLE count, i: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Start(count);
      FOR i := 1 TO count DO Acceptor!Put(i) END;
      Acceptor!End
  END Work;
END Producer;

COMPONENT Consumer OFFERS Result REQUIRES Source;
  VARIABLE count, sum, x: INTEGER; more: BOOLEAN;

  IMPLEMENTATION Result;
    BEGIN {EXCLUSIVE} ?Ask; AWAIT(~more); !Total(count, sum)
  END Result;

  BEGIN
    count := 0; sum := 0; more := TRUE
  ACTIVITY {EXCLUSIVE}
    WHILE more DO
      Source!Get;
      IF Source?Item THEN Source?Item(x); INC(count); sum := sum + x
      ELSE Source?Nothing; more := FALSE
      END
    END
END Consumer;

COMPONENT ProducersConsumers REQUIRES Arguments;
  VARIABLE
    buffer: Buffer; producer[number: INTEGER]: Producer; consumer[number: INTEGER]: Consumer;
    producers, consumers, each, i, count, sum, allCount, allSum: INTEGER;

  PROCEDURE Argument(number, usual: INTEGER): INTEGER;
    VARIABLE text: TEXT;
    BEGIN
      Arguments!Get(number); Arguments?Argument(text);
      IF text = "" THEN RETURN usual END;
      RETURN INTEGER(text)
  END Argument;

  BEGIN
    producers := Argument(1, 3); consumers := Argument(2, 4); each := Argument(3, 100);
    NEW(buffer);
    Work(buffer)!Start(producers);
    FOR i := 1 TO consumers DO NEW(consumer[i]); CONNECT(Source(consumer[i]), Source(buffer)) END;
    FOR i := 1 TO producers DO
      NEW(producer[i]); CONNECT(Acceptor(producer[i]), Acceptor(buffer));
      producer[i]!Start(each)
    END;
    allCount := 0; allSum := 0;
    FOR i := 1 TO consumers DO
      consumer[i]!Ask; consumer[i]?Total(count, sum);
      allCount := allCount + count; allSum := allSum + sum
    END;
    WRITE(allCount); WRITE(" items, sum "); WRITE(allSum); WRITELINE;
    FOR i := 1 TO producers DO DELETE(producer[i]) END;
    FOR i := 1 TO consumers DO DELETE(consumer[i]) END
END ProducersConsumers;
