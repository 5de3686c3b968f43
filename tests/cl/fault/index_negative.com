COMPONENT Main;
  VARIABLE a[i: INTEGER]: TEXT {ARRAY}; i: INTEGER;
  BEGIN
    NEW(a, 3);
    FOR i := 2 TO -1 BY -1 DO a[i] := "x" END
END Main;
