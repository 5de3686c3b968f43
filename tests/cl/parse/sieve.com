INTERFACE NumberStream;
  { IN Number(x: INTEGER) } IN Close
END NumberStream;

COMPONENT Filter OFFERS NumberStream;
  VARIABLE next: Filter; prime: INTEGER;
  IMPLEMENTATION NumberStream;
    VARIABLE x: INTEGER;
  BEGIN {EXCLUSIVE}
    ?Number(prime); WRITE(prime); WRITELINE;
    WHILE ?Number DO
      ?Number(x);
      IF x MOD prime # 0 THEN
        IF ~EXISTS(next) THEN NEW(next) END;
        next!Number(x)
      END
    END;
    ?Close;
    IF EXISTS(next) THEN next!Close END
  END NumberStream;
END Filter;

COMPONENT Sieve;
  CONSTANT N = 10000;
  VARIABLE first: Filter; i: INTEGER;
BEGIN
  NEW(first);
  FOR i := 2 TO N DO first!Number(i) END;
  first!Close;
  DELETE(first)
END Sieve;
