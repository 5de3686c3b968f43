(* error[nested-lock] in line 4: EXCLUSIVE is held already *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  ACTIVITY {EXCLUSIVE} n := 1; BEGIN {EXCLUSIVE} n := 2 END
END Main;
