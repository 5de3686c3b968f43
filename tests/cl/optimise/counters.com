(* A number that begins as a constant and is counted by 1 needs no check. *)
COMPONENT {ENTRYPOINT} Counters;

  PROCEDURE Steps(x: INTEGER): INTEGER;
    VARIABLE count, sum: INTEGER;
  BEGIN
    count := 0; sum := 0;
    WHILE x # 1 DO
      IF x MOD 2 = 0 THEN x := x DIV 2 ELSE x := 3 * x + 1 END;
      INC(count); sum := sum + 2
    END;
    RETURN count + sum
  END Steps;

  (* What begins with a parameter may be near the end, and so may what is added to. *)
  PROCEDURE Others(n: INTEGER): INTEGER;
    VARIABLE i, j: INTEGER;
  BEGIN
    i := n; j := 0;
    WHILE i # 100 DO INC(i); INC(j); IF j = 7 THEN j := j * n END END;
    RETURN j
  END Others;

BEGIN
  WRITE(Steps(9) + Others(90))
END Counters;
