(* The stack of a process grows as deep as memory allows. *)
COMPONENT Main;
  PROCEDURE Depth(n: INTEGER): INTEGER;
    BEGIN
      IF n = 0 THEN RETURN 0 END;
      RETURN Depth(n - 1) + 1
  END Depth;
  BEGIN WRITE(Depth(100000)); WRITELINE; WRITE(Depth(1000000)); WRITELINE
END Main;
