(* N writers of count writes each, through one of two drivers with the same interface. *)
INTERFACE Work;
  IN Start(kind, address: TEXT; number, count, size, seconds: INTEGER) OUT Finished(writes: INTEGER)
END Work;

COMPONENT Writer OFFERS Work REQUIRES Xenstore, SystemTime;
  PROCEDURE Joined(first, second: TEXT): TEXT;
    VARIABLE
      both: TEXT;
      i: INTEGER;
  BEGIN
    NEW(both, LENGTH(first) + LENGTH(second));
    FOR i := 0 TO LENGTH(first) - 1 DO
      both[i] := first[i]
    END;
    FOR i := 0 TO LENGTH(second) - 1 DO
      both[LENGTH(first) + i] := second[i]
    END;
    RETURN both
  END Joined;

  IMPLEMENTATION Work;
    VARIABLE
      kind, address, path, value, result: TEXT;
      number, count, size, seconds, writes, i, start, now: INTEGER;
  BEGIN {EXCLUSIVE}
    ?Start(kind, address, number, count, size, seconds);
    NEW(value, size);
    FOR i := 0 TO size - 1 DO
      value[i] := CHARACTER(97 + (i + number) MOD 26)
    END;
    path := Joined("/bench/", TEXT(number));
    writes := 0;
    Xenstore!Connect(kind, address);
    Xenstore?Connected;
    SystemTime!GetSystemTime;
    SystemTime?SystemTime(start);
    REPEAT
      FOR i := 1 TO count DO
        Xenstore!Write(path, value, 0);
        Xenstore?Done(result)
      END;
      writes := writes + count;
      SystemTime!GetSystemTime;
      SystemTime?SystemTime(now)
    UNTIL now - start >= 1000 * seconds;
    Xenstore!Close;
    !Finished(writes)
  END Work;
END Writer;

(* What else the loop has to do: a timer that is to come every millisecond. *)
COMPONENT Beside REQUIRES SystemTime;
ACTIVITY {EXCLUSIVE}
  WHILE ~TERMINATED() DO
    SystemTime!Wait(1);
    SystemTime?Passed
  END
END Beside;

COMPONENT Main REQUIRES Xenstore, Pore, SystemTime, Arguments;
  VARIABLE
    driver: XenstoreDriver;
    beside: Beside;
    writer[number: INTEGER]: Writer;
    n, size, count, seconds, i, writes, total: INTEGER;
    kind, address: TEXT;
    isPore: BOOLEAN;

  PROCEDURE Argument(i: INTEGER): TEXT;
    VARIABLE text: TEXT;
  BEGIN
    Arguments!Get(i);
    Arguments?Argument(text);
    RETURN text
  END Argument;
BEGIN
  isPore := Argument(1) = "pore";
  kind := Argument(2);
  address := Argument(3);
  n := INTEGER(Argument(4));
  size := INTEGER(Argument(5));
  count := INTEGER(Argument(6));
  seconds := INTEGER(Argument(7));
  NEW(beside);
  CONNECT(SystemTime(beside), SystemTime);
  IF isPore THEN
    NEW(driver);
    CONNECT(Pore(driver), Pore)
  END;
  FOR i := 1 TO n DO
    NEW(writer[i]);
    CONNECT(SystemTime(writer[i]), SystemTime);
    IF isPore THEN
      CONNECT(Xenstore(writer[i]), Xenstore(driver))
    ELSE
      CONNECT(Xenstore(writer[i]), Xenstore)
    END;
    writer[i]!Start(kind, address, i, count, size, seconds)
  END;
  total := 0;
  FOR i := 1 TO n DO
    writer[i]?Finished(writes);
    total := total + writes
  END;
  WRITE(total);
  WRITELINE
END Main;
