(*
  A city: a river drives a power plant, the plant feeds houses, as much as the river gives.
  Houses that find no power wait, in AWAIT, until another gives its own back.
*)
INTERFACE River;
  IN Look OUT Flow(power: INTEGER)
END River;

INTERFACE Power;
  IN Take(amount: INTEGER) OUT Given IN GiveBack
END Power;

COMPONENT Aare OFFERS River;
  CONSTANT Strength = 10;
  IMPLEMENTATION River;
    BEGIN ?Look; !Flow(Strength)
  END River;
END Aare;

COMPONENT PowerPlant OFFERS Power REQUIRES River;
  VARIABLE capacity, used, most, served: INTEGER;

  IMPLEMENTATION Power;
    VARIABLE amount: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Take(amount);
      AWAIT(used + amount <= capacity);
      used := used + amount; INC(served);
      IF used > most THEN most := used END;
      !Given;
      AWAIT(INPUT(GiveBack));
      ?GiveBack;
      used := used - amount
  END Power;

  BEGIN
    River!Look; River?Flow(capacity); used := 0; most := 0; served := 0
  FINALLY
    ASSERT(used = 0); ASSERT(most <= capacity);
    WRITE(served); WRITE(" times power was given, at most "); WRITE(capacity);
    WRITE(" at once"); WRITELINE
END PowerPlant;

COMPONENT House REQUIRES Power;
  CONSTANT Days = 5;
  VARIABLE day: INTEGER;
  BEGIN
    FOR day := 1 TO Days DO
      Power!Take(1 + day MOD 4); Power?Given;
      PASSIVATE(8);
      Power!GiveBack;
      PASSIVATE(16)
    END
END House;

COMPONENT City;
  CONSTANT Houses = 20;
  VARIABLE
    aare: Aare; plant: PowerPlant {SYNCHRONOUS}; house[number: INTEGER]: House {SYNCHRONOUS};
    i: INTEGER;
  BEGIN
    NEW(aare); NEW(plant); CONNECT(River(plant), aare);
    FOR i := 1 TO Houses DO NEW(house[i]); CONNECT(house[i], Power(plant)) END;
    FOR i := 1 TO Houses DO DELETE(house[i]) END;
    DELETE(plant); DELETE(aare)
END City;
