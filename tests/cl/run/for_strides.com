(* FOR with short rounds, which passes few checkpoints: all rounds are made, and none beyond. *)
COMPONENT Main;
  PROCEDURE Up(first, bound: INTEGER): INTEGER;
    VARIABLE i, n: INTEGER;
  BEGIN
    n := 0;
    FOR i := first TO bound DO INC(n) END;
    RETURN n
  END Up;

  PROCEDURE UpBy7(first, bound: INTEGER): INTEGER;
    VARIABLE i, n: INTEGER;
  BEGIN
    n := 0;
    FOR i := first TO bound BY 7 DO INC(n) END;
    RETURN n
  END UpBy7;

  PROCEDURE DownBy3(first, bound: INTEGER): INTEGER;
    VARIABLE i, n: INTEGER;
  BEGIN
    n := 0;
    FOR i := first TO bound BY -3 DO INC(n) END;
    RETURN n
  END DownBy3;

  PROCEDURE Huge(first, bound: INTEGER): INTEGER;
    VARIABLE i, n: INTEGER;
  BEGIN
    n := 0;
    FOR i := first TO bound BY 4000000000000000000 DO INC(n) END;
    RETURN n
  END Huge;

  PROCEDURE Sum(bound: INTEGER): INTEGER;
    VARIABLE i, n: INTEGER;
  BEGIN
    n := 0;
    FOR i := 1 TO bound DO IF i MOD 2 = 0 THEN n := n + i ELSE n := n - 1 END END;
    RETURN n
  END Sum;

  (* The variable may be set within. *)
  PROCEDURE Leaps(bound: INTEGER): INTEGER;
    VARIABLE i, n: INTEGER;
  BEGIN
    n := 0;
    FOR i := 1 TO bound DO INC(n); i := i + 1 END;
    RETURN n
  END Leaps;

  PROCEDURE Show(n: INTEGER);
  BEGIN
    WRITE(n); WRITE(" ")
  END Show;

  BEGIN
    Show(Up(1, 0)); Show(Up(1, 1)); Show(Up(1, 2)); Show(Up(1, 31)); Show(Up(1, 32));
    Show(Up(1, 33)); Show(Up(1, 34)); Show(Up(1, 1000)); WRITELINE;
    Show(Up(MAX(INTEGER) - 2, MAX(INTEGER))); Show(Up(MAX(INTEGER) - 40, MAX(INTEGER)));
    Show(Up(MIN(INTEGER), MIN(INTEGER))); Show(Up(MIN(INTEGER), MIN(INTEGER) + 40));
    Show(Up(MAX(INTEGER), MIN(INTEGER))); WRITELINE;
    Show(UpBy7(1, 1)); Show(UpBy7(1, 7)); Show(UpBy7(1, 8)); Show(UpBy7(1, 225));
    Show(UpBy7(1, 1000)); Show(UpBy7(MAX(INTEGER) - 5, MAX(INTEGER)));
    Show(UpBy7(MIN(INTEGER), MIN(INTEGER) + 6)); Show(UpBy7(MIN(INTEGER), MIN(INTEGER) + 300));
    WRITELINE;
    Show(DownBy3(10, 1)); Show(DownBy3(1000, 1)); Show(DownBy3(MIN(INTEGER) + 2, MIN(INTEGER)));
    Show(DownBy3(MIN(INTEGER) + 300, MIN(INTEGER))); Show(DownBy3(MAX(INTEGER), MAX(INTEGER)));
    Show(DownBy3(MAX(INTEGER), MAX(INTEGER) - 100)); WRITELINE;
    Show(Huge(MIN(INTEGER), MAX(INTEGER))); Show(Huge(0, MAX(INTEGER))); WRITELINE;
    Show(Sum(1000)); Show(Leaps(100)); Show(Leaps(101)); WRITELINE
END Main;
