COMPONENT Main;
  PROCEDURE Stop(n: INTEGER);
    BEGIN HALT(n)
  END Stop;
  BEGIN
    WRITE("before"); WRITELINE; Stop(7)
END Main;
