(* error[unlocked] in line 10: Outer needs EXCLUSIVE, since Inner writes n *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  PROCEDURE Inner;
    BEGIN n := n + 1
  END Inner;
  PROCEDURE Outer;
    BEGIN Inner
  END Outer;
  ACTIVITY {SHARED} Outer
END Main;
