(* The primes up to a limit: each has a filter component, which makes the next one.
   Argument: LIMIT. Prints how many primes there are. *)

INTERFACE Numbers;
  { IN Number(n: INTEGER) } IN Ended OUT Primes(count: INTEGER)
END Numbers;

(* The first number that comes is the filter's prime; its multiples go no further. The process
   that filters is the only one that uses the next filter: it holds the lock all the time. *)
COMPONENT Filter OFFERS Numbers;
  VARIABLE next: Filter;

  IMPLEMENTATION Numbers;
    VARIABLE prime, n, count: INTEGER; last: BOOLEAN;
  BEGIN {EXCLUSIVE}
    ?Number(prime);
    last := TRUE;
    WHILE ?Number DO
      ?Number(n);
      IF n MOD prime # 0 THEN
        IF last THEN NEW(next); last := FALSE END;
        next!Number(n)
      END
    END;
    ?Ended;
    count := 0;
    IF ~last THEN next!Ended; next?Primes(count) END;
    !Primes(count + 1)
  END Numbers;
END Filter;

COMPONENT {ENTRYPOINT} Sieve REQUIRES Arguments;
  VARIABLE
    limit, n, primes: INTEGER;
    first: Filter;

  PROCEDURE Parameter(number: INTEGER): INTEGER;
    VARIABLE text: TEXT; at, value: INTEGER;
  BEGIN
    Arguments!Get(number); Arguments?Argument(text);
    value := 0; at := 0;
    WHILE (at < LENGTH(text)) AND (text[at] # 0X) DO
      value := value * 10 + INTEGER(text[at]) - 30H; (* 30H is the digit nought *)
      INC(at)
    END;
    RETURN value
  END Parameter;

BEGIN
  limit := Parameter(1)
ACTIVITY {EXCLUSIVE}
  NEW(first);
  FOR n := 2 TO limit DO first!Number(n) END;
  first!Ended;
  first?Primes(primes);
  WRITE(primes); WRITELINE
END Sieve;
