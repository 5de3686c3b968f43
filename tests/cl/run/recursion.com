(* Procedures call themselves and each other, before they are declared too. *)
COMPONENT Main;
  PROCEDURE Ackermann(m, n: INTEGER): INTEGER;
    BEGIN
      IF m = 0 THEN RETURN n + 1
      ELSIF n = 0 THEN RETURN Ackermann(m - 1, 1)
      ELSE RETURN Ackermann(m - 1, Ackermann(m, n - 1))
      END
  END Ackermann;
  PROCEDURE Even(n: INTEGER): BOOLEAN;
    BEGIN
      IF n = 0 THEN RETURN TRUE END;
      RETURN Odd(n - 1)
  END Even;
  PROCEDURE Odd(n: INTEGER): BOOLEAN;
    BEGIN
      IF n = 0 THEN RETURN FALSE END;
      RETURN Even(n - 1)
  END Odd;
  BEGIN
    WRITE(Ackermann(2, 3)); WRITE(" "); WRITE(Even(100)); WRITE(" "); WRITE(Odd(7)); WRITELINE
END Main;
