(* error[nested-lock] in line 4: EXCLUSIVE inside SHARED *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  ACTIVITY {SHARED} IF n = 0 THEN {EXCLUSIVE} n := 1 END
END Main;
