(* RETURN leaves a procedure from within loops, with and without a value. *)
COMPONENT Main;
  PROCEDURE FirstMultiple(of, from: INTEGER): INTEGER;
    VARIABLE i: INTEGER;
    BEGIN
      FOR i := from TO from + of DO
        IF i MOD of = 0 THEN RETURN i END
      END;
      RETURN 0
  END FirstMultiple;
  PROCEDURE Say(n: INTEGER);
    BEGIN
      IF n < 0 THEN RETURN END;
      WRITE(n); WRITELINE
  END Say;
  BEGIN
    Say(FirstMultiple(7, 50)); Say(-1); Say(0)
END Main;
