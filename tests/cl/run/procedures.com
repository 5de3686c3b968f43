(* Parameters by value and by reference, of several sections. *)
COMPONENT Main;
  VARIABLE x, y: INTEGER; t: TEXT;
  PROCEDURE Swap(VARIABLE a, b: INTEGER);
    VARIABLE h: INTEGER;
    BEGIN h := a; a := b; b := h
  END Swap;
  PROCEDURE Mixed(n: INTEGER; VARIABLE t: TEXT; b: BOOLEAN);
    BEGIN
      INC(n);
      IF b THEN t := TEXT(n) END
  END Mixed;
  PROCEDURE Nothing;
  END Nothing;
  PROCEDURE Brackets();
    BEGIN WRITE("()"); WRITELINE
  END Brackets;
  BEGIN
    x := 1; y := 2; Swap(x, y); WRITE(x); WRITE(y); WRITELINE;
    t := "old"; Mixed(x, t, FALSE); WRITE(t); Mixed(x, t, TRUE); WRITE(t); WRITE(x); WRITELINE;
    Nothing; Brackets; Brackets()
END Main;
