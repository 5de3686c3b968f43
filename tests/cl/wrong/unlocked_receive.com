(* error[unlocked] in line 6: receiving into n needs EXCLUSIVE *)
INTERFACE Tell; IN Say(n: INTEGER) OUT Ok END Tell;
COMPONENT Main OFFERS Tell;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Tell;
    BEGIN {SHARED} ?Say(n); !Ok
  END Tell;
END Main;
