(* Maps whose elements are read and written in all ways while they grow. *)
COMPONENT {ENTRYPOINT} Main;
  VARIABLE m[i: INTEGER]: INTEGER; r[i: INTEGER]: REAL; b[c: CHARACTER]: BOOLEAN; p[i, j: INTEGER]: INTEGER;
    t[k: TEXT]: TEXT; c: CHARACTER; i, k, sum: INTEGER; s: TEXT;
  PROCEDURE Grow(n: INTEGER): INTEGER;
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 1 TO n DO m[i * 1000003 + n] := i END;
    RETURN n
  END Grow;
  PROCEDURE Twice(VARIABLE x: INTEGER);
  BEGIN x := x + Grow(100); x := x + Grow(300)
  END Twice;
  PROCEDURE Fill(i: INTEGER): INTEGER;
  BEGIN m[i * 777777777] := i; RETURN i
  END Fill;
BEGIN
  m[-5] := 1; m[-5] := m[-5] + Grow(50); WRITE(m[-5]); WRITE(" ");
  m[MIN(INTEGER)] := 3; m[MAX(INTEGER)] := 4; INC(m[MIN(INTEGER)], Grow(200)); WRITE(m[MIN(INTEGER)]); WRITE(" ");
  i := 0; Twice(i); WRITE(i); WRITE(" ");
  m[Fill(3)] := Fill(4) + m[Fill(3) * 777777777]; WRITE(m[3]); WRITELINE;
  FOR i := 1 TO 2000 DO
    IF EXISTS(m[i * 65537]) THEN INC(m[i * 65537]) ELSE m[i * 65537] := i END;
    IF EXISTS(m[i * 65537]) THEN
      IF i MOD 3 = 0 THEN DELETE(m[i * 65537]); IF ~EXISTS(m[i * 65537]) THEN m[i * 65537] := -i END
      ELSE m[i * 65537] := m[i * 65537] + m[i * 65537] END
    END;
    r[i * i * 1001] := i / 2; p[i, -i] := i; IF EXISTS(p[i, -i]) THEN p[-i, i] := p[i, -i]; p[i, -i] := p[i, -i] + p[-i, i] END;
    s := TEXT(i * 7); t[s] := s; IF EXISTS(t[s]) THEN t[TEXT(i)] := t[s]; s := t[s]; t[s] := TEXT(LENGTH(t[s])) END
  END;
  sum := 0; FOREACH k OF m DO sum := (sum * 31 + m[k] + k MOD 1000) MOD 1000003 END; WRITE(sum); WRITE(" ");
  sum := 0; FOREACH i, k OF p DO sum := (sum * 31 + p[i, k]) MOD 1000003 END; WRITE(sum); WRITE(" ");
  sum := 0; FOREACH s OF t DO sum := (sum * 31 + LENGTH(t[s]) + INTEGER(s)) MOD 1000003 END; WRITE(sum); WRITE(" ");
  FOREACH k OF m DO IF k MOD 2 = 0 THEN DELETE(m[k]) ELSIF k MOD 5 = 0 THEN m[k + 1] := 1 END END;
  sum := 0; FOREACH k OF m DO sum := (sum * 31 + k MOD 1000) MOD 1000003 END; WRITE(sum); WRITE(" ");
  b["a"] := TRUE; b[0X] := FALSE; b[0FFX] := b["a"]; FOREACH c OF b DO WRITE(b[c]) END; WRITELINE
END Main;
