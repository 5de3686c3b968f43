(* error[nested-lock] in line 10: Outer takes EXCLUSIVE in Inner, which is held here *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  PROCEDURE Inner;
    BEGIN {EXCLUSIVE} INC(n)
  END Inner;
  PROCEDURE Outer;
    BEGIN Inner
  END Outer;
  BEGIN Outer
END Main;
