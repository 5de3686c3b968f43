(* What is known of INTEGERs takes checks away: conditions, indices, counts; not where a loop grows. *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; sum: INTEGER;

  PROCEDURE Below(n: INTEGER): INTEGER;
    VARIABLE i: INTEGER;
  BEGIN
    i := 0;
    WHILE i < n DO i := i + 1 END;
    RETURN i
  END Below;

  (* Nothing bounds `i` from above. *)
  PROCEDURE Without(n: INTEGER): INTEGER;
    VARIABLE i: INTEGER;
  BEGIN
    i := 0;
    WHILE i # n DO i := i + 1 END;
    RETURN i
  END Without;

  PROCEDURE Neighbours(n: INTEGER);
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 1 TO n DO a[i] := a[i - 1] + 1 END
  END Neighbours;

  PROCEDURE Digits(n: INTEGER): INTEGER;
  BEGIN RETURN n MOD 10 * 10 + n DIV 10 MOD 10 END Digits;
BEGIN
  NEW(a, 8); sum := Below(5) + Without(5); Neighbours(7); sum := sum + Digits(1234);
  WRITE(sum)
END Main;
