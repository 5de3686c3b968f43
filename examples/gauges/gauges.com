(* options: gauges.olg --listen localhost:0 -q *)
(* Two gauges report to rules, which keep means, and say which rooms are hot; the fan of a room
   goes on and off as they say. *)

INTERFACE RulesOfRooms;
  { IN reading(room: TEXT; celsius: REAL) OUT Taken | IN Next ( OUT hot(change: CHARACTER;
      room: TEXT) | OUT End ) }
END RulesOfRooms;

(* Reports what it is told, one reading after the other. *)
COMPONENT Gauge OFFERS Measuring REQUIRES RulesOfRooms;
  IMPLEMENTATION Measuring;
    VARIABLE
      room: TEXT;
      celsius: REAL;
  BEGIN
    WHILE ?Measure DO
      ?Measure(room, celsius);
      BEGIN {EXCLUSIVE}
        RulesOfRooms!reading(room, celsius);
        RulesOfRooms?Taken
      END;
      !Reported
    END
  END Measuring;
END Gauge;

INTERFACE Measuring;
  { IN Measure(room: TEXT; celsius: REAL) OUT Reported }
END Measuring;

COMPONENT {ENTRYPOINT} Main REQUIRES RulesOfRooms, SystemTime;
  VARIABLE attic, cellar: Gauge;

  PROCEDURE Measure(VARIABLE gauge: Gauge; room: TEXT; celsius: REAL);
  BEGIN
    gauge!Measure(room, celsius);
    gauge?Reported
  END Measure;

  (* Turns fans on and off, so many times. *)
  PROCEDURE Fans(changes: INTEGER);
    VARIABLE
      change: CHARACTER;
      room: TEXT;
      i: INTEGER;
  BEGIN
    FOR i := 1 TO changes DO
      RulesOfRooms!Next;
      RulesOfRooms?hot(change, room);
      WRITE(room);
      IF change = "+" THEN
        WRITE(" on")
      ELSE
        WRITE(" off")
      END;
      WRITELINE
    END
  END Fans;
BEGIN
  NEW(attic);
  CONNECT(RulesOfRooms(attic), RulesOfRooms);
  NEW(cellar);
  CONNECT(RulesOfRooms(cellar), RulesOfRooms);
  RulesOfRooms!reading("cellar", 12.0);
  RulesOfRooms?Taken;
  Measure(attic, "attic", 29.0);
  Measure(cellar, "cellar", 13.0);
  Fans(1);
  Measure(attic, "attic", 21.0);
  Fans(1);
  Measure(cellar, "cellar", 60.0);
  Fans(1)
END Main;
