COMPONENT Main;
  VARIABLE x: INTEGER;
  PROCEDURE Sign(x: INTEGER): INTEGER;
  BEGIN
    WHILE x # 0 DO
      IF x > 0 THEN RETURN 1 END;
      IF x < 0 THEN RETURN -1 END
    END
  END Sign;
  BEGIN
    x := 0;
    WRITE(Sign(7)); WRITELINE;
    WRITE(Sign(x))
END Main;
