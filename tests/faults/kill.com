INTERFACE Counting; { IN Tick(n: INTEGER) { OUT Counted(count: INTEGER) } OUT Done } END Counting;

COMPONENT Counter OFFERS Counting;
  IMPLEMENTATION Counting;
  VARIABLE n, count: INTEGER;
  BEGIN
    WHILE ?Tick DO
      ?Tick(n); INC(count, n);
      !Counted(count); !Done
    END
  END Counting;
END Counter;
