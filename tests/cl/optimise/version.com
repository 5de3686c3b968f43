(* Places in arrays are tested before a loop; what has been found inside is not tested again. *)
COMPONENT {ENTRYPOINT} Version;
  VARIABLE n: INTEGER;

  PROCEDURE Sum(n: INTEGER): REAL;
    VARIABLE a[i: INTEGER], b[i: INTEGER]: REAL {ARRAY}; i, j: INTEGER; sum: REAL;
  BEGIN
    NEW(a, n); NEW(b, 2 * n);
    FOR i := 0 TO n - 1 DO
      FOR j := 0 TO i DO sum := sum + a[i] * b[i + j] / REAL(j + 1) END
    END;
    RETURN sum
  END Sum;

  PROCEDURE Reverse(last: INTEGER): INTEGER;
    VARIABLE q[i: INTEGER]: INTEGER {ARRAY}; i, j, t: INTEGER;
  BEGIN
    NEW(q, 10);
    WHILE last > 0 DO
      q[last] := last; i := 0; j := last - 1;
      WHILE i < j DO t := q[i]; q[i] := q[j]; q[j] := t; INC(i); DEC(j) END;
      last := q[last] - 1
    END;
    RETURN q[0]
  END Reverse;

BEGIN
  n := 3;
  WRITE(Sum(n)); WRITE(Reverse(n))
END Version;
