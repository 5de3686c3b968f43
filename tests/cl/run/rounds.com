(* Loops of FOR of all lengths up to some strides: short rounds, which are taken several at a time,
   up and down, in steps, within one array and from one to another, and at the ends of INTEGER. *)
COMPONENT {ENTRYPOINT} Rounds;
  VARIABLE n, sum: INTEGER;

  PROCEDURE Mixed(n: INTEGER): INTEGER;
    VARIABLE p[i: INTEGER], q[i: INTEGER]: INTEGER {ARRAY}; i, sum: INTEGER;
  BEGIN
    NEW(p, n + 1); NEW(q, n + 1);
    FOR i := 0 TO n DO p[i] := i * i + 1 END;
    FOR i := 0 TO n DO q[i] := p[i] END;
    FOR i := 0 TO n - 1 DO p[i] := p[i + 1] END;
    FOR i := n TO 1 BY -1 DO q[i] := q[i - 1] END;
    FOR i := 1 TO n DO q[i] := q[i - 1] END;
    FOR i := 0 TO n BY 3 DO p[i] := 7 END;
    FOR i := n TO 0 BY -2 DO q[i] := i END;
    sum := 0;
    FOR i := 0 TO n DO sum := (31 * sum + p[i] + 17 * q[i]) MOD 1000003 END;
    RETURN sum
  END Mixed;

  PROCEDURE Ends(): INTEGER;
    CONSTANT Last = 7FFFFFFFFFFFFFFFH;
    VARIABLE i, rounds, seen: INTEGER;
  BEGIN
    rounds := 0; seen := 0;
    FOR i := Last - 37 TO Last DO seen := i; INC(rounds) END;
    ASSERT(seen = Last);
    FOR i := -Last + 40 TO -Last - 1 BY -1 DO seen := i; INC(rounds) END;
    ASSERT(seen = -Last - 1);
    FOR i := Last - 100 TO Last BY 7 DO seen := i; INC(rounds) END;
    ASSERT(seen = Last - 2);
    RETURN rounds
  END Ends;

BEGIN
  sum := 0;
  FOR n := 0 TO 140 DO sum := (sum * 7 + Mixed(n)) MOD 1000003 END;
  WRITE(sum); WRITE(" "); WRITE(Mixed(0)); WRITE(" "); WRITE(Mixed(9)); WRITE(" ");
  WRITE(Mixed(33)); WRITE(" "); WRITE(Ends()); WRITELINE
END Rounds;
