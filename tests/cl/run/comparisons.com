(* The six comparisons on every type that has an order. *)
COMPONENT Main;
  PROCEDURE Integers(a, b: INTEGER);
    BEGIN
      WRITE(a = b); WRITE(" "); WRITE(a # b); WRITE(" "); WRITE(a < b); WRITE(" ");
      WRITE(a <= b); WRITE(" "); WRITE(a > b); WRITE(" "); WRITE(a >= b); WRITELINE
  END Integers;
  PROCEDURE Texts(a, b: TEXT);
    BEGIN
      WRITE(a = b); WRITE(" "); WRITE(a # b); WRITE(" "); WRITE(a < b); WRITE(" ");
      WRITE(a <= b); WRITE(" "); WRITE(a > b); WRITE(" "); WRITE(a >= b); WRITELINE
  END Texts;
  VARIABLE c: CHARACTER; r: REAL;
  BEGIN
    Integers(1, 2); Integers(2, 2); Integers(-1, -2);
    Texts("abc", "abd"); Texts("abc", "abc"); Texts("b", "abc"); Texts("", "a"); Texts("ab", "abc");
    c := "m"; r := 0.5;
    WRITE(c < "n"); WRITE(" "); WRITE(c = "m"); WRITE(" "); WRITE(c > "Z"); WRITE(" ");
    WRITE(r < 1); WRITE(" "); WRITE(r >= 0.5); WRITELINE
END Main;
