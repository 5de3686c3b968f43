(* Nodes in a ring pass a token on. *)
COMPONENT {ENTRYPOINT} Ring REQUIRES SystemTime;
  CONSTANT Nodes = 1000; Rounds = 1000;

  INTERFACE TokenPass;
    { IN Token(value: INTEGER) }
  END TokenPass;

  COMPONENT Node OFFERS TokenPass REQUIRES TokenPass;
    IMPLEMENTATION TokenPass;
      VARIABLE value: INTEGER;
    BEGIN
      WHILE ?Token DO {EXCLUSIVE}
        ?Token(value);
        IF value > 0 THEN TokenPass!Token(value - 1) END
      END
    END TokenPass;
  END Node;

  VARIABLE node[number: INTEGER]: Node; i: INTEGER;

  BEGIN
    FOR i := 1 TO Nodes DO NEW(node[i]) END;
    FOR i := 1 TO Nodes DO
      CONNECT(TokenPass(node[i]), TokenPass(node[i MOD Nodes + 1]))
    END;
    TokenPass(node[1])!Token(Nodes * Rounds)
  FINALLY
    WRITE("done"); WRITELINE
END Ring;
