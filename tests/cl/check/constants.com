(* Constants are folded whatever their order; what has no value is an error there. *)
COMPONENT Main;
  CONSTANT
    A = B * 2; B = 21; C = A DIV 5; D = -A MOD 5; E = A = 42; F = ~E OR (C < D); G = 1 / 4; H = G + 1;
    Name = "name"; Letter = "q"; Same = Name = "name"; Less = "a" < "b"; Code = INTEGER(Letter);
    Small = CHARACTER(66); Big = MAX(INTEGER); Least = MIN(INTEGER); Root = SQRT(2); Down = INTEGER(-1.5);
    X = Y; Y = Z + 1; Z = X;
    Own = Own;
    Overflow = Big + 1; Negative = -Least; Product = Big * 2; Quotient = Least DIV -1;
    Zero = 1 DIV 0; Rest = 1 MOD 0; Real = 1 / 0; NoCharacter = CHARACTER(256); NoInteger = INTEGER(1.0E30);
    Variable = v; Function = Five(); Random = RANDOM(1, 2); Now = TIME; Text = TEXT(1); Sine = SIN(1);
    Unknown = Nothing; Type = 1 + TRUE; OfWrong = Unknown + 1;
  VARIABLE v: INTEGER; c: CHARACTER; t: TEXT; r: REAL;
  PROCEDURE Five(): INTEGER;
    BEGIN RETURN 5
  END Five;
  BEGIN
    v := C + D + Code + Down; c := Letter; c := Small; t := Letter; t := Name; r := Root; r := A;
    c := Name; v := G; A := 1; INC(B); NEW(A); v := 1 DIV 0; v := Big + 1;
    FOR v := 1 TO 2 BY D DO END; FOR v := 1 TO 2 BY A - 42 DO END; FOR v := 1 TO 2 BY v DO END
END Main;
