(* Small procedures become the code of their callers; VARIABLE arguments stand for themselves. *)
COMPONENT Main;
  VARIABLE n: INTEGER;

  PROCEDURE Add(VARIABLE to: INTEGER; by: INTEGER);
  BEGIN to := to + by END Add;

  PROCEDURE Larger(a, b: INTEGER): INTEGER;
  BEGIN
    IF a > b THEN RETURN a END;
    RETURN b
  END Larger;

  (* It calls itself, so it stays a procedure. *)
  PROCEDURE Deep(n: INTEGER): INTEGER;
  BEGIN
    IF n = 0 THEN RETURN 0 END;
    RETURN Deep(n - 1)
  END Deep;
BEGIN
  Add(n, Larger(n, 3)); n := Deep(n)
END Main;
