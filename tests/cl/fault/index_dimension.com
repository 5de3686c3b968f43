COMPONENT Main;
  VARIABLE m[i, j: INTEGER]: REAL {ARRAY}; i: INTEGER;
  BEGIN
    NEW(m, 2, 5);
    FOR i := 0 TO 4 DO m[1, i] := i END;
    FOR i := 0 TO 4 DO WRITE(m[i, 1]) END
END Main;
