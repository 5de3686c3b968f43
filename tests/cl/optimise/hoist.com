(* Views and scalars are loaded before loops in which nothing changes them. *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; b[i, j: INTEGER]: REAL {ARRAY}; sum: INTEGER;

  PROCEDURE Grow;
  BEGIN NEW(a, sum) END Grow;

  PROCEDURE Sum(n: INTEGER);
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 0 TO n DO sum := sum + a[i] END
  END Sum;

  (* `y` may be the variable `sum`, which so is loaded each time; neither is an array. *)
  PROCEDURE Trace(n: INTEGER; VARIABLE x: REAL; VARIABLE y: INTEGER);
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 0 TO n DO x := x + b[i, i]; y := sum END
  END Trace;

  (* Allocating suspends, and changes what loops around have loaded. *)
  PROCEDURE Between(n: INTEGER);
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 0 TO n DO a[i] := sum; Grow END
  END Between;
  VARIABLE x: REAL;
BEGIN
  Sum(5); Trace(3, x, sum); Between(3)
END Main;
