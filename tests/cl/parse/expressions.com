COMPONENT Expressions;
  CONSTANT
    Decimal = 42; Hex = 0FFH; Big = 9223372036854775807; Small = -9223372036854775808;
    AlsoSmall = 1 + -9223372036854775808; Real = 1.5E-3; AlsoReal = 12.25; Exponent = 1.0E3;
    Char = 0DX; Also = "c"; Text = "text ä"; None = ""; Yes = TRUE; No = FALSE;
  BEGIN
    x := a + b * c - d; x := (a + b) * (c - d); x := -a + b; x := +a * -b; x := - - a; x := ~ ~a;
    x := a OR b AND c; x := a / b DIV c MOD d; x := a - -1; x := -a * b;
    x := a = b; x := a # b; x := a < b; x := a <= b; x := a > b; x := a >= b; x := (a < b) = (c < d);
    x := a + b < c * d; x := ~a OR ~(b AND c);
    x := a IS House; x := a(House) IS ANY(A | B); x := a OFFERS A, B[1..2]; x := a REQUIRES C[1..*];
    x := (a OFFERS A) AND (b REQUIRES B);
    x := f(); x := f(1, g(2), "x"); x := a[1]; x := a[f(1), b[2]]; x := Service(a);
    x := a(ANY); x := a(ANY(A, B | C)); x := Service[k](a[1]); x := a(b)(c); x := f(x)[1];
    x := EXISTS(a); x := EXISTS(a[i, j]); x := EXISTS(Service(a)); x := MIN(INTEGER); x := COUNT(A);
    x := {SHARED} a + b; x := ({EXCLUSIVE, SHARED} a) + 1; f({SHARED} a, {SHARED} b)
END Expressions;
