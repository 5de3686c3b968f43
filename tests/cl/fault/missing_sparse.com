(* A key that is missing in a large table, which the code searches by itself. *)
COMPONENT Main;
  VARIABLE map[key: INTEGER]: INTEGER; i, sum: INTEGER;
  BEGIN
    FOR i := 1 TO 1000 DO map[i * 1000003] := i END;
    INC(map[99 * 1000003]);
    FOR i := 1 TO 1000 DO sum := sum + map[i * 1000003] END;
    WRITE(sum); WRITELINE;
    FOR i := 1000 TO 1010 DO sum := sum + map[i * 1000003] END;
    WRITE(sum)
END Main;
