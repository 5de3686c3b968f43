(* Operators, assignments, conditions, indices. *)
COMPONENT Part; END Part;
COMPONENT Main;
  VARIABLE
    i: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT; p, q: Part; x: ANY;
    a[k: INTEGER]: INTEGER {ARRAY}; m[k: TEXT; b: BOOLEAN]: REAL; s[c: CHARACTER]: TEXT;
    bad[k: REAL]: INTEGER; worse[k: Part]: INTEGER; array[k: TEXT]: INTEGER {ARRAY};
    one: INTEGER {ARRAY}; two: INTEGER {SYNCHRONOUS}; three: INTEGER {EXCLUSIVE}; four: Part {SYNCHRONOUS};
  PROCEDURE F(n: INTEGER; VARIABLE r: REAL; t: TEXT): BOOLEAN;
    BEGIN r := n; RETURN t = ""
  END F;
  PROCEDURE P;
    BEGIN RETURN 1
  END P;
  PROCEDURE G(): INTEGER;
    BEGIN IF b THEN RETURN ELSIF i = 1 THEN RETURN "x" ELSE RETURN 1.5 END
  END G;
  PROCEDURE Right;
    BEGIN
      r := i; r := i + r; r := i / i; b := i < r; b := c = "a"; b := "a" = c; b := "a" < "b"; b := c < 41X; b := b = TRUE;
      m["k", TRUE] := i; s["c"] := "c"; s[c] := t; t[i] := c; t[0] := "z"; a[a[0]] := 2; b := F(1, r, "t"); MOVE(p, q);
      MOVE(p, x); NEW(x, Part); IF x IS Part THEN MOVE(x(Part), p) END; bad[1] := 2
  END Right;
  BEGIN
    i := r; i := t; i := b; t := i; b := i; c := t; p := q; a := a; i := p; p := i; r := "1"; i := x; x := p;
    i := 1 + TRUE; i := t + t; i := c + 1; r := b * 2; i := 7.0 DIV 2; i := i MOD r; i := -b; i := +t; b := ~i; b := b AND i; b := i OR b;
    b := i = t; b := p = q; b := x # x; b := b < b; b := c = "ab"; b := c = t; b := a = a; b := r = b;
    IF i THEN END; WHILE t DO END; REPEAT UNTIL r; IF i = 1 THEN i := t ELSIF c THEN ELSE i := b END;
    FOR r := 1 TO 2 DO END; FOR i := 1.5 TO 2 DO END; FOR i := 1 TO t DO END; FOR i := 1 TO 2 BY 0 DO END; FOR a := 1 TO 2 DO END; FOR i := 1 TO 3 BY 1.5 DO END;
    a["x"] := 1; a[1, 2] := 1; m[1, TRUE] := 1; m["k"] := 1.0; i[0] := 1; t[0, 1] := "c"; t["x"] := "c"; s[t] := "x"; c[0] := "x"; P[1] := 2; p[1] := 2;
    b := F(1, r); b := F(1, 2.0, t); b := F(1, i, t); b := F(t, r, t); b := F(1, r, c); b := F(1, r + 1, t); F(1, r, t); i := P; P(1); G; b := F;
    FOREACH t OF m DO END; FOREACH t, i OF m DO END; FOREACH i OF a DO END; FOREACH i OF i DO END; FOREACH t, b OF m DO i := t END;
    NEW(i); NEW(b); NEW(a); NEW(a, 1, 2); NEW(a, t); NEW(t); NEW(t, t); NEW(m); NEW(m["k", TRUE]); NEW(s["k"], 5); NEW(p, Part); NEW(p, Main); NEW(p, 1); NEW(x); NEW(x, x); NEW(x, Part, 1);
    DELETE(i); DELETE(a[0]); DELETE(a); DELETE(m); DELETE(m["k", TRUE]); DELETE(t); DELETE(p);
    MOVE(i, p); MOVE(p, x); MOVE(x, p); MOVE(a, p); b := i IS Part; b := p IS INTEGER; b := x OFFERS Nothing; b := i OFFERS SystemTime; b := x(i) IS Part; b := i(Part) IS Part; b := p(Main) IS Part; b := 1 IS Part
END Main;
