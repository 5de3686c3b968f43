(* error[unlocked] in line 4: writing n needs EXCLUSIVE *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  ACTIVITY n := 1
END Main;
