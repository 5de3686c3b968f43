(* VARIABLE parameters that are elements, characters of collections, and passed on. *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; c[k: TEXT]: TEXT; i: INTEGER;
  PROCEDURE Set(VARIABLE x: INTEGER; v: INTEGER);
    BEGIN x := v
  END Set;
  PROCEDURE Through(VARIABLE x: INTEGER);
    BEGIN Set(x, x + 1)
  END Through;
  PROCEDURE Word(VARIABLE t: TEXT);
    BEGIN t := "word"
  END Word;
  BEGIN
    NEW(a, 3); i := 1;
    Set(a[i], 5); Through(a[i]); WRITE(a[1]);
    c["k"] := ""; Word(c["k"]); WRITE(c["k"]); WRITELINE
END Main;
