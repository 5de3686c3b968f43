(* A FOR that ends at a limit of INTEGER does not overflow. *)
COMPONENT Main;
  VARIABLE i, n: INTEGER;
  BEGIN
    n := 0;
    FOR i := MAX(INTEGER) - 2 TO MAX(INTEGER) DO INC(n) END;
    FOR i := MIN(INTEGER) + 2 TO MIN(INTEGER) BY -1 DO INC(n) END;
    FOR i := MAX(INTEGER) - 5 TO MAX(INTEGER) BY 4 DO INC(n) END;
    WRITE(n); WRITELINE
END Main;
