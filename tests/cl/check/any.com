(* ANY: what fits it, what conditions tell of it, what is seen as another type. *)
INTERFACE A; IN Ask OUT Is END A;
INTERFACE B; IN Ask OUT Is END B;
COMPONENT OnlyA OFFERS A; IMPLEMENTATION A; BEGIN ?Ask; !Is END A; END OnlyA;
COMPONENT Needs OFFERS A REQUIRES B; IMPLEMENTATION A; BEGIN ?Ask; !Is END A; BEGIN B!Ask; B?Is END Needs;
COMPONENT Many OFFERS A[1..3] REQUIRES B[1..*]; IMPLEMENTATION A; BEGIN ?Ask; !Is END A; END Many;
COMPONENT Right;
  VARIABLE any, x: ANY; a: ANY(A); ab: ANY(A | B); b: ANY(| B); a2: ANY(A[1..2]); o: OnlyA; n: Needs; e[k: INTEGER]: ANY; i: INTEGER;
  PROCEDURE Takes(p: ANY(A)); BEGIN p!Ask; p?Is END Takes;
  PROCEDURE Gives(): ANY(A); VARIABLE p: OnlyA; BEGIN NEW(p); RETURN p END Gives;
  PROCEDURE Refers(VARIABLE p: ANY(A)); BEGIN NEW(p, OnlyA) END Refers;
  BEGIN
    NEW(any, OnlyA); NEW(a, OnlyA); NEW(a, Needs); NEW(ab, Needs); NEW(b, Needs); NEW(a2, Many); NEW(ab, Many); NEW(o); NEW(n); NEW(e[1], Many); NEW(x, Many);
    MOVE(o, a); MOVE(n, ab); MOVE(ab, a); MOVE(a, any); Takes(o); Takes(a); Takes(ab); Takes(Gives()); Refers(a);
    IF any OFFERS A THEN A(any)!Ask; any?Is; MOVE(any(ANY(A)), a) END;
    IF (any IS OnlyA) AND A(any)?Is THEN MOVE(any(OnlyA), o) ELSIF x IS Many THEN A[2](x)!Ask ELSIF any IS ANY(A | B) THEN A(any)!Ask END;
    WHILE (e[i] OFFERS A, B) AND (i < 3) DO A(e[i])!Ask; B(e[i])!Ask; B(e[i])?Is END;
    REPEAT any(OnlyA)!Ask; any(OnlyA)?Is UNTIL any(OnlyA) IS OnlyA;
    IF any REQUIRES B THEN CONNECT(B(any), e[2](ANY(B))) END
END Right;
COMPONENT Wrong;
  VARIABLE any: ANY; a: ANY(A); ab: ANY(A | B); a2: ANY(A[1..2]); o: OnlyA; n: Needs; i: INTEGER;
  PROCEDURE Takes(p: ANY(A)); BEGIN p!Ask; p?Is END Takes;
  PROCEDURE Refers(VARIABLE p: ANY(A)); BEGIN NEW(p, OnlyA) END Refers;
  BEGIN
    NEW(ab, OnlyA); NEW(a2, OnlyA); MOVE(a, o); MOVE(any, a); MOVE(o, ab); MOVE(o, n); Takes(any); Takes(i); Refers(o); Refers(any); A(any)!Ask; B(a)!Ask;
    IF any OFFERS A THEN NEW(any, OnlyA); A(any)!Ask ELSE A(any)!Ask END; A(any)!Ask; IF ~(any OFFERS A) THEN A(any)!Ask END; IF (any OFFERS A) OR A(any)?Is THEN END;
    o(Needs)!Ask; i(OnlyA)!Ask; any(i)!Ask; any(Nothing)!Ask; MOVE(any(ANY(B)), a)
END Wrong;
COMPONENT Main; VARIABLE r: Right; w: Wrong; BEGIN NEW(r); NEW(w) END Main;
