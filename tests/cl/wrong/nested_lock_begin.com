(* error[nested-lock] in line 4: BEGIN of a component counts as exclusive *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  BEGIN BEGIN {EXCLUSIVE} n := 1 END
END Main;
