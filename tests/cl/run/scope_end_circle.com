(* Components that are connected in a circle end, too. *)
INTERFACE Ring; { IN Pass(n: INTEGER) } END Ring;
COMPONENT Node OFFERS Ring REQUIRES Ring;
  IMPLEMENTATION Ring;
    VARIABLE n: INTEGER;
    BEGIN
      WHILE ?Pass DO
        ?Pass(n);
        IF n > 0 THEN BEGIN {EXCLUSIVE} Ring!Pass(n - 1) END END
      END
  END Ring;
  FINALLY WRITE("x")
END Node;
COMPONENT Main;
  CONSTANT Nodes = 10;
  VARIABLE i: INTEGER;
  PROCEDURE Turn(rounds: INTEGER);
    VARIABLE node[i: INTEGER]: Node; i: INTEGER;
    BEGIN
      FOR i := 0 TO Nodes - 1 DO NEW(node[i]) END;
      FOR i := 0 TO Nodes - 1 DO CONNECT(Ring(node[i]), node[(i + 1) MOD Nodes]) END;
      IF rounds > 0 THEN node[0]!Pass(rounds) END
  END Turn;
  BEGIN
    FOR i := 0 TO 2 DO Turn(i * 10); WRITELINE END
END Main;
