(* An index is tested once for what is read and written; and so is a sum. *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; n: INTEGER;

  PROCEDURE Swap(i, j: INTEGER);
    VARIABLE t: INTEGER;
  BEGIN
    t := a[i + 1]; a[i + 1] := a[j]; a[j] := t;
    n := n + a[i + 1];
    IF n > 3 THEN n := n + 1 END
  END Swap;
BEGIN
  Swap(0, 1)
END Main;
