(* FOR over variables of a component counts in registers, and memory has the values. *)
COMPONENT {ENTRYPOINT} Promote;
  VARIABLE a[i, j: INTEGER], b[i, j: INTEGER]: REAL {ARRAY}; i, k: INTEGER; sum: REAL;

  PROCEDURE Row(n: INTEGER): REAL;
  BEGIN
    FOR i := 0 TO n - 1 DO
      sum := 0.0;
      FOR k := 0 TO n - 1 DO sum := sum + a[i, k] * b[k, i] END
    END;
    RETURN sum
  END Row;

  (* Who is called changes the variable. *)
  PROCEDURE Skip; BEGIN INC(i) END Skip;

  PROCEDURE Odd(n: INTEGER): INTEGER;
    VARIABLE count: INTEGER;
  BEGIN
    FOR i := 0 TO n DO Skip; INC(count) END;
    RETURN count
  END Odd;

BEGIN
  NEW(a, 9, 9); NEW(b, 9, 9); WRITE(Row(9)); WRITE(Odd(9))
END Promote;
