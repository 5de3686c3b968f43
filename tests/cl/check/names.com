(* Scopes: what is visible where, what is declared twice, what hides what. *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
INTERFACE Ask; IN Get END Ask;
COMPONENT Twice; END Twice;
COMPONENT Twice; END Twice;
COMPONENT Ask; END Ask;
COMPONENT INTEGER; END INTEGER;
COMPONENT Outer OFFERS Ask;
  CONSTANT Limit = 3; Limit = 4; SIN = 5;
  VARIABLE v, v: INTEGER; Limit: TEXT; hidden: INTEGER; w[i: INTEGER; i: TEXT]: INTEGER;
  COMPONENT Inner REQUIRES Ask, Ask;
    CONSTANT More = Limit + 1;
    VARIABLE own: INTEGER; sibling: Sibling; outer: Outer;
    BEGIN own := More; own := v; Add; hidden := 2; own := Limit; own := Inner
  END Inner;
  COMPONENT Sibling; END Sibling;
  INTERFACE Within; IN Go(x: Inner; y: Nowhere) OUT Went END Within;
  PROCEDURE Add(a, b: INTEGER; a: TEXT);
    VARIABLE b: INTEGER; v: TEXT; c: INTEGER;
    PROCEDURE Deep;
      BEGIN INC(c); v := "text"; own := 1; vv := 1
    END Deep;
    BEGIN Deep; c := a
  END Add;
  PROCEDURE Add; END Add;
  IMPLEMENTATION Ask;
    VARIABLE local: INTEGER;
    BEGIN ?Get; !Is(local)
  END Ask;
  BEGIN c := 1; local := 2; Deep; Inner := 1; Add := 1; v := Ask; v := Ask(v); Ask; Ask(1); Limit(2); v(1); v := v(1); v := Limit(1)
END Outer;
COMPONENT Main;
  VARIABLE i: Inner; w: Within; o: Outer; a: Ask; n: Nowhere; l: LONGINT; k: Interger;
  BEGIN Writeline; wRITE(1); WRITELN; NEW(o)
END Main;
