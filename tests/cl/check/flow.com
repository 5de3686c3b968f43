(* Warnings: never reached, may end without a value, never used. *)
COMPONENT Part; END Part;
COMPONENT Main;
  VARIABLE unused, used: INTEGER; part: Part; none[k: INTEGER]: TEXT;
  PROCEDURE Missing(i: INTEGER): INTEGER; BEGIN IF i > 0 THEN RETURN 1 END END Missing;
  PROCEDURE Empty(): INTEGER; END Empty;
  PROCEDURE Both(i: INTEGER): INTEGER; BEGIN IF i > 0 THEN RETURN 1 ELSIF i < 0 THEN HALT(3) ELSE RETURN 2 END; WRITELINE END Both;
  PROCEDURE Loops(i: INTEGER): INTEGER; BEGIN WHILE TRUE DO IF i = 3 THEN RETURN i END; INC(i) END END Loops;
  PROCEDURE Repeats(i: INTEGER): INTEGER; BEGIN REPEAT IF i = 3 THEN RETURN i END UNTIL FALSE; RETURN 1 END Repeats;
  PROCEDURE Counts(i: INTEGER): INTEGER; BEGIN FOR i := 1 TO 2 DO RETURN i; i := 2 END END Counts;
  PROCEDURE Never; VARIABLE local, seen: INTEGER; BEGIN RETURN; seen := 1; INC(seen) END Never;
  PROCEDURE Asserts(): INTEGER; BEGIN ASSERT(FALSE) END Asserts;
  BEGIN used := Missing(1) + Empty() + Both(1) + Loops(1) + Repeats(1) + Counts(1) + Asserts(); Never; HALT(0); HALT(1)
END Main;
