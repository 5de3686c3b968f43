(* The variable of FOR may be an element of an array. *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY};
  BEGIN
    NEW(a, 2);
    FOR a[0] := 1 TO 3 DO
      FOR a[1] := a[0] TO 3 DO WRITE(a[0] * 10 + a[1]); WRITE(" ") END
    END;
    WRITELINE
END Main;
