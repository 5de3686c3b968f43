(* error[unlocked] in line 7: Add writes n, so its caller needs EXCLUSIVE *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  PROCEDURE Add;
    BEGIN n := n + 1
  END Add;
  ACTIVITY Add
END Main;
