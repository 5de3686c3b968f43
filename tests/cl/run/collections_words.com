(* Keys of all lengths, with what is behind a 0X, while the table grows and FOREACH goes over it. *)
COMPONENT {ENTRYPOINT} Words;
  VARIABLE
    times[word: TEXT]: INTEGER;
    word[i: INTEGER]: TEXT {ARRAY};
    i, j, sum, seen: INTEGER;
    key, last: TEXT;

  PROCEDURE Make(number: INTEGER): TEXT;
    VARIABLE text: TEXT; k: INTEGER;
  BEGIN
    NEW(text, number MOD 45);
    FOR k := 0 TO LENGTH(text) - 1 DO text[k] := CHARACTER(97 + (number + k * k) MOD 26) END;
    IF (number MOD 7 = 3) AND (number MOD 45 > 0) THEN text[LENGTH(text) DIV 2] := 0X END;
    RETURN text
  END Make;

BEGIN
  NEW(word, 600);
  FOR i := 0 TO 599 DO word[i] := Make(i) END;
  FOR i := 0 TO 4999 DO
    j := i * i MOD 600;
    IF EXISTS(times[word[j]]) THEN INC(times[word[j]]) ELSE times[word[j]] := 1 END
  END;
  sum := 0;
  FOR i := 0 TO 599 DO
    IF EXISTS(times[word[i]]) THEN sum := sum * 31 MOD 1000003 + times[word[i]] END
  END;
  WRITE(sum); WRITELINE;
  seen := 0; last := "";
  FOREACH key OF times DO
    IF (seen > 0) AND (key <= last) THEN WRITE("out of order"); WRITELINE END;
    last := key; INC(seen);
    IF seen MOD 3 = 0 THEN DELETE(times[key]) END;
    IF seen MOD 50 = 0 THEN times[Make(1000 + seen)] := seen END
  END;
  WRITE(seen); WRITELINE;
  FOREACH key OF times DO sum := (sum * 17 + times[key] + LENGTH(key)) MOD 1000003 END;
  WRITE(sum); WRITELINE
END Words;
