(* The test of a loop stands at the end of a round, too. *)
COMPONENT {ENTRYPOINT} Rotate;
  VARIABLE i, j, sum: INTEGER;
BEGIN
  WHILE i < 10 DO
    j := i;
    WHILE (j > 0) AND (sum < 1000) DO sum := sum + j; DEC(j) END;
    INC(i)
  END;
  WRITE(sum)
END Rotate;
