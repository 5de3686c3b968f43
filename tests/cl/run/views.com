(* Arrays and variables that loops find in memory: allocated anew within, by others, not at all. *)
INTERFACE Row; { IN Fill(n: INTEGER) OUT Sum(s: INTEGER) } END Row;

COMPONENT Table OFFERS Row;
  VARIABLE row[i: INTEGER]: INTEGER {ARRAY}; filled, total: INTEGER;

  (* Allocates the array that its callers go through. *)
  PROCEDURE Grow(n: INTEGER);
  BEGIN NEW(row, n); INC(filled) END Grow;

  PROCEDURE Add(VARIABLE to: INTEGER; by: INTEGER);
  BEGIN to := to + by END Add;

  IMPLEMENTATION Row; VARIABLE n, i: INTEGER;
  BEGIN
    WHILE ?Fill DO
      ?Fill(n);
      BEGIN {EXCLUSIVE}
        Grow(n);
        FOR i := 0 TO n - 1 DO row[i] := i * i; total := total + row[i] END;
        (* The callee changes what the loop has loaded. *)
        FOR i := 0 TO n - 1 DO Add(total, row[i]) END;
        FOR i := 1 TO 3 DO Grow(i); row[i - 1] := total; total := total + LENGTH(row) END
      END;
      BEGIN {SHARED} n := total END;
      !Sum(n)
    END
  END Row;
END Table;

COMPONENT Main;
  VARIABLE
    table[k: INTEGER]: Table; a[i: INTEGER], b[i, j: INTEGER]: INTEGER {ARRAY};
    i, j, s, count: INTEGER; half: REAL;

  PROCEDURE Twice(VARIABLE x, y: INTEGER);
  BEGIN x := x + 1; y := y * 2 END Twice;

  PROCEDURE Local(n: INTEGER): INTEGER;
    VARIABLE c[i: INTEGER]: INTEGER {ARRAY}; i, k, sum, spare: INTEGER;

    PROCEDURE Put(at, x: INTEGER);
    BEGIN c[at] := x; INC(sum, x) END Put;

    PROCEDURE Anew(m: INTEGER);
    BEGIN NEW(c, m) END Anew;

  BEGIN
    NEW(c, n); sum := 0;
    FOR i := n - 1 TO 0 BY -1 DO Put(i, i + 1); spare := spare + c[i] + sum END;
    FOR k := 1 TO 4 DO
      FOR i := 0 TO LENGTH(c) - 1 DO c[i] := c[i] + k END;
      Anew(n + k);
      FOR i := 0 TO LENGTH(c) - 1 DO c[i] := c[i] + i; spare := spare + c[i] END
    END;
    WHILE sum > 0 DO sum := sum - 3; Twice(spare, spare) END;
    RETURN spare
  END Local;

BEGIN
  NEW(a, 50); NEW(b, 7, 9);
  FOR i := 0 TO 49 DO a[i] := i; INC(count); a[i] := a[i] + count END;
  FOR i := 0 TO 6 DO FOR j := 8 TO 0 BY -1 DO b[i, j] := 10 * i + j; a[i] := a[i] + b[i, j] END END;
  s := 0;
  FOR i := 0 TO 49 DO s := s + a[i]; half := half + REAL(s) / 2.0 END;
  WRITE(s); WRITE(" "); WRITE(count); WRITE(" "); WRITE(half); WRITELINE;
  WRITE(Local(10)); WRITELINE;
  (* No round at all: the array need not be there. *)
  DELETE(a);
  FOR i := 1 TO 0 DO s := s + a[i] END;
  WHILE s < 0 DO s := a[s] END;
  FOR i := 1 TO 3 DO
    NEW(table[i]);
    FOR j := 1 TO i DO table[i]!Fill(10 * j); table[i]?Sum(s); WRITE(s); WRITE(" ") END
  END;
  Twice(s, s); WRITE(s); WRITELINE
END Main;
