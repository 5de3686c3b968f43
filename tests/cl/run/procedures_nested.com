(* A nested procedure sees the variables and parameters of those around it. *)
COMPONENT Main;
  VARIABLE total: INTEGER;
  PROCEDURE Outer(n: INTEGER): INTEGER;
    VARIABLE sum: INTEGER;
    PROCEDURE Add(k: INTEGER);
      VARIABLE twice: INTEGER;
      PROCEDURE Deeper;
        BEGIN sum := sum + twice + n; INC(total)
      END Deeper;
      BEGIN twice := 2 * k; Deeper
    END Add;
    BEGIN
      sum := 0; Add(1); Add(2);
      IF n > 0 THEN sum := sum + Outer(n - 1) END;
      RETURN sum
  END Outer;
  BEGIN
    total := 0; WRITE(Outer(3)); WRITE(" "); WRITE(total); WRITELINE
END Main;
