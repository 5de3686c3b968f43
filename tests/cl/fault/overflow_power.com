(* Products double until they do not fit. *)
COMPONENT Main;
  VARIABLE i, n: INTEGER;
BEGIN
  i := 1;
  WHILE i > 0 DO i := i * 2; INC(n); IF n > 60 THEN WRITE(n); WRITELINE END END
END Main;
