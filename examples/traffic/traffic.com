(*
  A discrete-event simulation: cars arrive at a crossing with a traffic light. Time is virtual: it
  advances when all processes are passive, so an hour takes as long as there is something to do.
*)
INTERFACE Light;
  IN Approach OUT Go
END Light;

INTERFACE Report;
  IN Ask OUT Waited(cars, total, longest: INTEGER)
END Report;

COMPONENT Crossing OFFERS Light, Report;
  CONSTANT Green = 30; Red = 60;
  VARIABLE green: BOOLEAN; cars, total, longest: INTEGER;

  IMPLEMENTATION Light;
    VARIABLE came, waited: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Approach; came := TIME;
      AWAIT(green);
      waited := TIME - came;
      INC(cars); total := total + waited;
      IF waited > longest THEN longest := waited END;
      !Go
  END Light;

  IMPLEMENTATION Report;
    BEGIN {SHARED} ?Ask; !Waited(cars, total, longest)
  END Report;

  BEGIN
    green := FALSE
  ACTIVITY {EXCLUSIVE}
    WHILE ~TERMINATED() DO
      green := TRUE; PASSIVATE(Green); green := FALSE; PASSIVATE(Red)
    END
END Crossing;

COMPONENT Driver REQUIRES Light;
  CONSTANT Trips = 10;
  VARIABLE trip: INTEGER;
  BEGIN
    FOR trip := 1 TO Trips DO
      PASSIVATE(47); Light!Approach; Light?Go; PASSIVATE(24)
    END
END Driver;

COMPONENT Traffic;
  CONSTANT Cars = 8;
  VARIABLE
    crossing: Crossing {SYNCHRONOUS}; car[number: INTEGER]: Driver {SYNCHRONOUS};
    i, cars, total, longest: INTEGER;
  BEGIN
    NEW(crossing);
    FOR i := 1 TO Cars DO
      NEW(car[i]); CONNECT(Light(car[i]), Light(crossing)); PASSIVATE(7)
    END;
    FOR i := 1 TO Cars DO DELETE(car[i]) END;
    Report(crossing)!Ask; Report(crossing)?Waited(cars, total, longest);
    WRITE(cars); WRITE(" crossings, waited "); WRITE(total); WRITE(" s together, at most ");
    WRITE(longest); WRITE(" s"); WRITELINE
END Traffic;
