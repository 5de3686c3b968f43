COMPONENT Hello;BEGIN
(* a comment that shares its line with a statement, and together they are longer than a line is *)WRITE("x")END Hello;

(* two *) (* before a component, of which the second one is so long that what follows does not fit *) COMPONENT Main;
  VARIABLE (* short *) a: INTEGER;
(* a comment that shares its line with a declaration, and is too long for both of them together *)b: INTEGER;
BEGIN
  WHILE a < 1 DO (* behind a token: it stays there however long the line becomes, and that is long *) INC(a);
(* a comment of
   two lines *) INC(a);
(* a comment of two lines, the last of which is too long for what follows, so it stands
   alone: ............................................................................... *) INC(a)

(* a comment before END, which is indented as what it stands in is, and not as END, if it is alone *)END;
(* it fits *) INC(b);

(* one *) (* another, and both of them together are longer than what would leave room for more *)a := a + b
END Main;
