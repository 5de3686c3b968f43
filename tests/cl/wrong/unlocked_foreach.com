(* error[unlocked] in line 10: reading c needs SHARED or EXCLUSIVE *)
COMPONENT Main;
  VARIABLE c[k: INTEGER]: INTEGER;
  PROCEDURE Count(): INTEGER;
    VARIABLE k, n: INTEGER;
    BEGIN
      FOREACH k OF c DO INC(n) END;
      RETURN n
  END Count;
  ACTIVITY WRITE(Count())
END Main;
