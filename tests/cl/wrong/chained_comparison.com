(* error[chained-comparison] in line 4: comparisons do not chain *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := 2; IF 1 < i < 3 THEN WRITELINE END
END Main;
