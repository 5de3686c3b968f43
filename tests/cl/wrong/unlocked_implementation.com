(* error[unlocked] in line 6: reading n needs SHARED or EXCLUSIVE *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Main OFFERS Ask;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Ask;
    BEGIN ?Get; !Is(n)
  END Ask;
  BEGIN n := 1
END Main;
