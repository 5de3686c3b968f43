COMPONENT Main;
  PROCEDURE Divide(a, b: INTEGER): INTEGER;
    BEGIN RETURN a DIV b
  END Divide;
  BEGIN
    WRITE(Divide(7, 2)); WRITELINE;
    WRITE(Divide(7, 0))
END Main;
