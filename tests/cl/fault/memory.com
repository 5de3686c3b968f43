(* options: --memory 16M *)
COMPONENT Main;
  VARIABLE c[k: INTEGER]: INTEGER; i: INTEGER;
  BEGIN
    FOR i := 1 TO 100000000 DO
      c[i] := i
    END
END Main;
