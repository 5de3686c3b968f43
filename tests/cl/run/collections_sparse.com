(* INTEGER keys far apart in loops, while the table grows and shrinks, beside keys from 0 on; the
   smallest and the largest; elements that are made, counted, missing and removed. *)
COMPONENT Part; END Part;
COMPONENT Main;
  CONSTANT Many = 5000; Step = 2654435761;
  VARIABLE
    map[key: INTEGER]: INTEGER; seen[letter: CHARACTER]: INTEGER; flag[is: BOOLEAN]: REAL;
    part[number: INTEGER]: Part;
    i, k, found, missing, sum: INTEGER;

  PROCEDURE Count(first, last: INTEGER);
    VARIABLE i: INTEGER;
  BEGIN
    found := 0; missing := 0; sum := 0;
    FOR i := first TO last DO
      IF EXISTS(map[i * Step]) THEN INC(found); sum := sum + map[i * Step] ELSE INC(missing) END;
      IF EXISTS(map[i * Step + 1]) THEN HALT(1) END
    END;
    WRITE(found); WRITE(" "); WRITE(missing); WRITE(" "); WRITE(sum); WRITELINE
  END Count;

  PROCEDURE Local(n: INTEGER): INTEGER;
    VARIABLE square[key: INTEGER]: INTEGER; i, all: INTEGER;
  BEGIN
    IF EXISTS(square[n * Step]) THEN RETURN -1 END;
    all := 0;
    FOR i := -n TO n DO
      IF EXISTS(square[i * i * Step]) THEN INC(square[i * i * Step])
      ELSE square[i * i * Step] := 1
      END
    END;
    FOR i := 0 TO n DO all := all + square[i * i * Step] END;
    FOREACH i OF square DO INC(all) END;
    RETURN all
  END Local;

  (* The same of texts, some of which are long; what holds a component, or none. *)
  PROCEDURE Words(n: INTEGER): INTEGER;
    VARIABLE times[word: TEXT]: INTEGER; word: TEXT; i, all: INTEGER;
  BEGIN
    FOR i := 0 TO 3 * n - 1 DO
      word := TEXT(i MOD n * Step MOD 1000007);
      IF i MOD 2 = 0 THEN word := "a text of more than 24 characters: 0123456789" END;
      IF i MOD n < 7 THEN word := "" END;
      IF EXISTS(times[word]) THEN INC(times[word]) ELSE times[word] := 1 END
    END;
    all := 0;
    FOREACH word OF times DO INC(all, 1000 + times[word]) END;
    RETURN all
  END Words;

  BEGIN
    Count(-3, 3);
    FOR i := 1 TO Many DO
      map[i * Step] := i;
      IF map[i * Step] # i THEN HALT(2) END;
      INC(map[(i + 1) DIV 2 * Step])
    END;
    Count(-10, Many + 10);
    FOR i := 1 TO Many DO IF i MOD 3 # 0 THEN DELETE(map[i * Step]); DELETE(map[i * Step]) END END;
    Count(1, Many);
    map[MIN(INTEGER)] := 7; map[MAX(INTEGER)] := 8; map[-1] := 9;
    FOR i := 0 TO 100 DO map[i] := i END;
    WRITE(map[MIN(INTEGER)] + map[MAX(INTEGER)] + map[-1] + map[0] + map[100]); WRITELINE;
    Count(1, Many);
    FOR i := 1 TO Many DO DELETE(map[i * Step]) END;
    Count(1, Many);
    WRITE(Local(300)); WRITE(" "); WRITE(Words(400)); WRITELINE;
    IF EXISTS(part[7]) THEN HALT(3) ELSE NEW(part[7]) END;
    DELETE(part[7]);
    IF EXISTS(part[7]) THEN HALT(4) ELSE NEW(part[7]) END;
    k := 0; FOREACH i OF part DO INC(k, i) END;
    WRITE(k); WRITELINE; k := 0;
    FOR i := 0 TO 255 DO INC(k); seen[CHARACTER(i)] := k END;
    flag[TRUE] := 1.5; flag[i = 0] := 0.25;
    WRITE(seen[0X] + seen["A"] + seen[0FFX]); WRITE(" "); WRITE(flag[TRUE] + flag[FALSE]); WRITELINE;
    FOREACH k OF map DO DELETE(map[k]) END;
    WRITE(EXISTS(map[0])); WRITE(EXISTS(map[-1])); WRITELINE
END Main;
