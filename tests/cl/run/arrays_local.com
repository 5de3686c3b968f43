(* Arrays and collections of a procedure are new at every call. *)
COMPONENT Main;
  PROCEDURE Primes(limit: INTEGER): INTEGER;
    VARIABLE composite[i: INTEGER]: BOOLEAN {ARRAY}; seen[k: INTEGER]: INTEGER; i, j, n: INTEGER;
    BEGIN
      NEW(composite, limit + 1); n := 0;
      ASSERT(~EXISTS(seen[2]));
      FOR i := 2 TO limit DO
        IF ~composite[i] THEN
          INC(n); seen[i] := n;
          FOR j := i + i TO limit BY 1 DO IF j MOD i = 0 THEN composite[j] := TRUE END END
        END
      END;
      RETURN n
  END Primes;
  BEGIN WRITE(Primes(100)); WRITE(" "); WRITE(Primes(30)); WRITELINE
END Main;
