(* x?M as an expression on several clients at once, of an interface that begins with OUT. *)
INTERFACE Numbers; { OUT Num(n: INTEGER) } OUT Fin END Numbers;
COMPONENT Source OFFERS Numbers;
  VARIABLE served: INTEGER;
  IMPLEMENTATION Numbers;
    VARIABLE i, most: INTEGER;
  BEGIN
    BEGIN {EXCLUSIVE} INC(served); most := served END;
    FOR i := 1 TO most DO !Num(i * 10 + most) END;
    !Fin
  END Numbers;
END Source;
COMPONENT Reader REQUIRES Numbers;
  VARIABLE sum: INTEGER;
BEGIN sum := 0
ACTIVITY {EXCLUSIVE}
  WHILE Numbers?Num DO Numbers?Num(sum) END; Numbers?Fin
END Reader;
COMPONENT {ENTRYPOINT} Main;
  VARIABLE s: Source; r[i: INTEGER]: Reader; i, n, total: INTEGER;
BEGIN
  NEW(s); total := 0;
  FOR i := 1 TO 9 DO NEW(r[i]); CONNECT(Numbers(r[i]), s) END;
  WHILE s?Num DO s?Num(n); total := total + n MOD 10 * 0 + 1 END; s?Fin;
  FOR i := 1 TO 9 DO DELETE(r[i]) END;
  WRITE(total > 0); WRITELINE;
  IF INPUT(s, ANY) THEN n := 0 END;
  PASSIVATE(1);
  IF INPUT(s, Num) THEN WRITE("there") ELSE WRITE("none") END; WRITELINE;
  WHILE ~s?Fin DO s?Num(n) END; s?Fin;
  WRITE("end"); WRITELINE
END Main;
