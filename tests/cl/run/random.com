(* RANDOM(lo, hi) stays within its bounds, both included, and meets them all. *)
COMPONENT Main;
  VARIABLE i, r, outside, met: INTEGER; seen[n: INTEGER]: BOOLEAN;
  BEGIN
    outside := 0;
    FOR i := 1 TO 2000 DO
      r := RANDOM(-2, 3);
      IF (r < -2) OR (r > 3) THEN INC(outside) END;
      seen[r] := TRUE
    END;
    met := 0;
    FOREACH r OF seen DO INC(met) END;
    WRITE(outside); WRITE(" "); WRITE(met); WRITE(" "); WRITE(RANDOM(7, 7)); WRITELINE
END Main;
