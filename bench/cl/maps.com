(* Collections by key. Arguments: CASE SEED COUNT ROUNDS.
   1  INTEGER keys, far apart: COUNT are put in, ROUNDS times looked up with as many that are not
      there, then every other one is removed.
   2  TEXT keys: of COUNT words ROUNDS times as many are drawn and counted.
   3  FOREACH over COUNT such INTEGER keys, ROUNDS times, each time after a key has been exchanged.
   Keys are drawn by a generator of Lehmer's from the seed. Prints a sum of what was found. *)
COMPONENT {ENTRYPOINT} Maps REQUIRES Arguments;
  VARIABLE
    case, seed, count, rounds: INTEGER;

  PROCEDURE Parameter(number: INTEGER): INTEGER;
    VARIABLE text: TEXT;
  BEGIN
    Arguments!Get(number); Arguments?Argument(text);
    RETURN INTEGER(text)
  END Parameter;

  PROCEDURE Next(x: INTEGER): INTEGER;
  BEGIN
    RETURN x * 48271 MOD 7FFFFFFFH
  END Next;

  PROCEDURE Key(x: INTEGER): INTEGER;
  BEGIN
    RETURN x * 2654435761 - 40000000000
  END Key;

  PROCEDURE Sparse(seed, count, rounds: INTEGER): INTEGER;
    VARIABLE map[key: INTEGER]: INTEGER; i, x, round, k, sum: INTEGER;
  BEGIN
    x := seed;
    FOR i := 1 TO count DO x := Next(x); map[Key(x)] := i END;
    sum := 0;
    FOR round := 1 TO rounds DO
      x := seed;
      FOR i := 1 TO count DO
        x := Next(x); k := Key(x);
        IF EXISTS(map[k]) THEN sum := sum + map[k] END;
        IF EXISTS(map[k + 1]) THEN sum := sum + map[k + 1] END
      END
    END;
    x := seed;
    FOR i := 1 TO count DO
      x := Next(x);
      IF i MOD 2 = 0 THEN DELETE(map[Key(x)]) END
    END;
    x := seed;
    FOR i := 1 TO count DO
      x := Next(x);
      IF EXISTS(map[Key(x)]) THEN INC(sum) END
    END;
    RETURN sum
  END Sparse;

  PROCEDURE Words(seed, count, rounds: INTEGER): INTEGER;
    VARIABLE
      word[i: INTEGER]: TEXT {ARRAY};
      times[word: TEXT]: INTEGER;
      i, j, x, sum: INTEGER;
  BEGIN
    NEW(word, count);
    x := seed;
    FOR i := 0 TO count - 1 DO x := Next(x); word[i] := TEXT(Key(x)) END;
    FOR i := 1 TO count * rounds DO
      x := Next(x); j := x MOD count; j := x DIV 65536 MOD (j + 1);
      IF EXISTS(times[word[j]]) THEN INC(times[word[j]]) ELSE times[word[j]] := 1 END
    END;
    sum := 0;
    FOR i := 0 TO count - 1 DO
      IF EXISTS(times[word[i]]) THEN sum := sum + (i MOD 1000 + 1) * times[word[i]] END
    END;
    RETURN sum
  END Words;

  PROCEDURE Ordered(seed, count, rounds: INTEGER): INTEGER;
    VARIABLE map[key: INTEGER]: INTEGER; i, x, first, k, round, place, sum: INTEGER;
  BEGIN
    x := seed;
    FOR i := 1 TO count DO x := Next(x); map[Key(x)] := i END;
    sum := 0; first := seed;
    FOR round := 1 TO rounds DO
      first := Next(first); DELETE(map[Key(first)]);
      x := Next(x); map[Key(x)] := count + round;
      place := 0;
      FOREACH k OF map DO
        INC(place); sum := (sum + place * map[k]) MOD 1000000007
      END
    END;
    RETURN sum
  END Ordered;

BEGIN
  case := Parameter(1); seed := Parameter(2); count := Parameter(3); rounds := Parameter(4);
  IF case = 1 THEN WRITE(Sparse(seed, count, rounds))
  ELSIF case = 2 THEN WRITE(Words(seed, count, rounds))
  ELSE WRITE(Ordered(seed, count, rounds))
  END;
  WRITELINE
END Maps;
