(*
  The sieve of Eratosthenes as a chain of components.

  Each filter keeps the first number that it receives, a prime, and passes on those that it does not
  divide, to a filter that it makes when it needs it.
*)
INTERFACE Numbers;
  { IN Number(n: INTEGER) } IN End OUT Found(primes, largest: INTEGER)
END Numbers;

COMPONENT Filter OFFERS Numbers;
  VARIABLE next: Filter;

  IMPLEMENTATION Numbers;
    VARIABLE prime, n, primes, largest: INTEGER; last: BOOLEAN;
    BEGIN {EXCLUSIVE}
      ?Number(prime); last := TRUE;
      WHILE ?Number DO
        ?Number(n);
        IF n MOD prime # 0 THEN
          IF last THEN NEW(next); last := FALSE END;
          next!Number(n)
        END
      END;
      ?End;
      IF last THEN !Found(1, prime)
      ELSE next!End; next?Found(primes, largest); !Found(primes + 1, largest)
      END
  END Numbers;
END Filter;

COMPONENT Sieve REQUIRES Arguments;
  VARIABLE filter: Filter; limit, n, primes, largest: INTEGER; text: TEXT;
  BEGIN
    Arguments!Get(1); Arguments?Argument(text);
    IF text = "" THEN limit := 1000 ELSE limit := INTEGER(text) END;
    ASSERT(limit >= 2);
    NEW(filter);
    FOR n := 2 TO limit DO filter!Number(n) END;
    filter!End; filter?Found(primes, largest);
    WRITE(primes); WRITE(" primes up to "); WRITE(limit);
    WRITE(", the largest is "); WRITE(largest); WRITELINE
END Sieve;
