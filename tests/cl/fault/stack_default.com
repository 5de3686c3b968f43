(* Recursion without end is contained like any fault. *)
COMPONENT Main;
  COMPONENT Deep;
    VARIABLE sum: INTEGER;
    PROCEDURE Down(n: INTEGER);
      VARIABLE t: TEXT;
      BEGIN t := "text"; Down(n + 1); INC(sum, n)
    END Down;
    ACTIVITY {EXCLUSIVE} Down(0)
    FINALLY WRITE("deep ends"); WRITELINE
  END Deep;
  VARIABLE deep: Deep;
  ACTIVITY {EXCLUSIVE} NEW(deep); AWAIT(FAILED(deep)); WRITE("failed"); WRITELINE
END Main;
