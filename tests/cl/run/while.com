(* WHILE tests before each round, also before the first. *)
COMPONENT Main;
  VARIABLE a, b, t: INTEGER;
  BEGIN
    a := 1071; b := 462;
    WHILE b # 0 DO t := a MOD b; a := b; b := t END;
    WRITE(a); WRITELINE;
    WHILE a < 0 DO WRITE("never") END
END Main;
