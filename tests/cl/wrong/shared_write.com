(* error[unlocked] in line 4: writing n needs EXCLUSIVE; SHARED is not enough *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  ACTIVITY {SHARED} n := 1
END Main;
