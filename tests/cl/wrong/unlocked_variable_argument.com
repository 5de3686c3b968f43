(* error[unlocked] in line 7: n is passed to be written, which needs EXCLUSIVE *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  PROCEDURE Set(VARIABLE x: INTEGER);
    BEGIN x := 1
  END Set;
  ACTIVITY {SHARED} Set(n)
END Main;
