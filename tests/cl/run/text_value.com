(* TEXT has value semantics: a copy is not changed with its source. *)
COMPONENT Main;
  VARIABLE a, b: TEXT;
  PROCEDURE Change(t: TEXT);
    BEGIN t[0] := "X"; WRITE(t); WRITELINE
  END Change;
  BEGIN
    a := "abc"; b := a; b[1] := "*";
    WRITE(a); WRITE(" "); WRITE(b); WRITELINE;
    Change(a); WRITE(a); WRITELINE
END Main;
