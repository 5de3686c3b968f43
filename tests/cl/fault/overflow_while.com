(* A loop that its condition does not end before INTEGER does. *)
COMPONENT Main;
  VARIABLE i, n: INTEGER;
BEGIN
  i := MAX(INTEGER) - 4;
  WHILE i # 0 DO INC(n); WRITE(n); WRITELINE; i := i + 1 END
END Main;
