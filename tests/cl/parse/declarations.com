COMPONENT {ENTRYPOINT, SYNCHRONOUS} Everything
  OFFERS A, B[2], C[1..3], D[0..*]
  REQUIRES E, F[1..*];
  CONSTANT One = 1; Two = One + 1;
  CONSTANT
  CONSTANT Name = "x";
  VARIABLE a: INTEGER;
  VARIABLE b, c: REAL; d, e[i: INTEGER]: TEXT;
    f[i, j: INTEGER; name: TEXT]: BOOLEAN {ARRAY};
    g: House {SYNCHRONOUS}; h[i: INTEGER]: ANY(A, B[1..*] | C) {SYNCHRONOUS, ARRAY};
    k: ANY; l: ANY(A); m: ANY( | C); n: ANY(); o: ANY(A | );
  VARIABLE
  INTERFACE Inner; END Inner;
  COMPONENT House; END House;
  COMPONENT Town;
    COMPONENT Street; INTERFACE Door; IN Knock END Door; END Street;
  BEGIN ACTIVITY FINALLY END Town;
  PROCEDURE None; END None;
  PROCEDURE Empty(); BEGIN END Empty;
  PROCEDURE Sum(a, b: INTEGER; VARIABLE c: REAL; d: ANY(A | B)): REAL;
    CONSTANT Two = 2;
    VARIABLE x: REAL;
    PROCEDURE Inside(x: REAL): REAL; BEGIN RETURN x * 2 END Inside;
    INTERFACE Local; IN M END Local;
    COMPONENT Small; END Small;
  BEGIN {SHARED}
    x := Inside(a);
    RETURN x
  END Sum;
  IMPLEMENTATION A; END A;
  IMPLEMENTATION B;
    CONSTANT k = 1; VARIABLE y: INTEGER; PROCEDURE P; END P;
  BEGIN ?M(y) END B;
  BEGIN {EXCLUSIVE} a := 1;
  ACTIVITY {SHARED, EXCLUSIVE}
    WRITE(a);;
  FINALLY
    ;
END Everything;
