(* error[nested-lock] in line 7: Add takes EXCLUSIVE, which is held here *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  PROCEDURE Add;
    BEGIN {EXCLUSIVE} INC(n)
  END Add;
  ACTIVITY {EXCLUSIVE} Add
END Main;
