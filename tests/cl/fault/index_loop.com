(* An index goes outside in the middle of a loop: what came before has happened. *)
COMPONENT Main;
  COMPONENT Part;
    VARIABLE a[i: INTEGER], b[i: INTEGER]: INTEGER {ARRAY}; count, i: INTEGER;
  BEGIN
    NEW(a, 10); NEW(b, 20);
    FOR i := 0 TO 19 DO
      b[i] := i; INC(count);
      WRITE(b[i]); WRITE(" ");
      a[i] := a[i] + count
    END
  FINALLY
    WRITE("count "); WRITE(count); WRITE(", last "); WRITE(b[count - 1])
  END Part;

  VARIABLE part: Part; late[i: INTEGER]: INTEGER {ARRAY}; k: INTEGER;
BEGIN
  NEW(part); DELETE(part);
  WRITELINE;
  k := 3;
  WHILE k >= -3 DO
    IF k < 0 THEN late[k] := 1 END;
    WRITE(k); DEC(k)
  END
END Main;
