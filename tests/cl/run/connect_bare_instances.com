(* A bare instance stands for its only offered interface, or for the one that the other side names. *)
INTERFACE River; IN Water OUT Flow(n: INTEGER) END River;
INTERFACE Power; IN Current OUT Volt(n: INTEGER) END Power;
COMPONENT Aare OFFERS River;
  IMPLEMENTATION River;
    BEGIN ?Water; !Flow(500)
  END River;
END Aare;
COMPONENT Plant OFFERS Power REQUIRES River;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Power;
    BEGIN {EXCLUSIVE} ?Current; River!Water; River?Flow(n); !Volt(n DIV 2)
  END Power;
END Plant;
COMPONENT House REQUIRES Power;
  VARIABLE n: INTEGER;
  BEGIN Power!Current; Power?Volt(n); WRITE(n); WRITELINE
END House;
COMPONENT Main;
  VARIABLE aare: Aare; plant: Plant; house: House;
  BEGIN
    NEW(aare); NEW(plant); NEW(house);
    CONNECT(River(plant), aare); CONNECT(house, Power(plant));
    DELETE(house)
END Main;
