COMPONENT Simulation;
  INTERFACE DataAcceptor; { IN Element(x: INTEGER) } END DataAcceptor;
  INTERFACE DataSource; { IN GetElement ( OUT Element(x: INTEGER) | OUT Finished ) } END DataSource;

  COMPONENT BoundedBuffer OFFERS DataAcceptor[1..*], DataSource[1..*];
    CONSTANT Capacity = 10;
    VARIABLE
      a[position: INTEGER]: INTEGER {ARRAY};
      first, last: INTEGER;
      nofProducers: INTEGER;
    IMPLEMENTATION DataAcceptor;
    BEGIN
      WHILE ?Element DO {EXCLUSIVE}
        AWAIT(last - first < Capacity);
        ?Element(a[last MOD Capacity]); INC(last)
      END;
      BEGIN {EXCLUSIVE} DEC(nofProducers) END
    END DataAcceptor;
    IMPLEMENTATION DataSource;
    BEGIN
      WHILE ?GetElement DO {EXCLUSIVE}
        ?GetElement; AWAIT((first < last) OR (nofProducers = 0));
        IF first < last THEN !Element(a[first MOD Capacity]); INC(first) ELSE !Finished END
      END
    END DataSource;
    BEGIN NEW(a, Capacity); first := 0; last := 0; nofProducers := 1
  END BoundedBuffer;

  COMPONENT Producer REQUIRES DataAcceptor;
    VARIABLE i: INTEGER;
    ACTIVITY {EXCLUSIVE} FOR i := 1 TO 1000000 DO DataAcceptor!Element(i) END
  END Producer;

  COMPONENT Consumer REQUIRES DataSource;
    VARIABLE i: INTEGER;
    ACTIVITY {EXCLUSIVE}
      DataSource!GetElement;
      WHILE DataSource?Element DO DataSource?Element(i); DataSource!GetElement END;
      DataSource?Finished
  END Consumer;

  VARIABLE buffer: BoundedBuffer; producer: Producer; consumer: Consumer;
  BEGIN
    NEW(buffer); NEW(producer); NEW(consumer);
    CONNECT(DataAcceptor(producer), DataAcceptor(buffer));
    CONNECT(DataSource(consumer), DataSource(buffer))
END Simulation;
