(* Every client has a server process of its own, so one does not hold up the other. *)
INTERFACE Step; { IN Next OUT At(n: INTEGER) } END Step;
COMPONENT Stairs OFFERS Step;
  IMPLEMENTATION Step;
    VARIABLE n: INTEGER;
    BEGIN WHILE ?Next DO ?Next; INC(n); !At(n) END
  END Step;
END Stairs;
COMPONENT Main;
  COMPONENT Walker REQUIRES Step;
    CONSTANT Rounds = 30;
    VARIABLE i, n: INTEGER;
    BEGIN FOR i := 1 TO Rounds DO Step!Next; Step?At(n); ASSERT(n = i) END
  END Walker;
  VARIABLE s: Stairs; a, b: Walker; n: INTEGER;
  BEGIN
    NEW(s); NEW(a); NEW(b); CONNECT(Step(a), Step(s)); CONNECT(Step(b), Step(s));
    s!Next; s?At(n); DELETE(a); DELETE(b); s!Next; s?At(n); WRITE(n); WRITELINE
END Main;
