(* error[nested-lock] in line 4: SHARED inside EXCLUSIVE *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  ACTIVITY {EXCLUSIVE} IF {SHARED} n = 0 THEN n := 1 END
END Main;
