(* BEGIN ... END groups statements. *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN
    i := 1;
    BEGIN i := i + 1; BEGIN i := i * 10 END END;
    WRITE(i); WRITELINE
END Main;
