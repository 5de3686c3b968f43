(* AND and OR evaluate their right side only when it decides. *)
COMPONENT Main;
  VARIABLE calls: INTEGER;
  PROCEDURE Say(b: BOOLEAN): BOOLEAN;
    BEGIN INC(calls); RETURN b
  END Say;
  BEGIN
    calls := 0;
    WRITE(Say(FALSE) AND Say(TRUE)); WRITE(calls); WRITELINE;
    WRITE(Say(TRUE) OR Say(FALSE)); WRITE(calls); WRITELINE;
    WRITE(Say(TRUE) AND Say(FALSE)); WRITE(calls); WRITELINE;
    WRITE(Say(FALSE) OR Say(TRUE)); WRITE(calls); WRITELINE;
    WRITE(~Say(TRUE) OR Say(FALSE) AND Say(TRUE)); WRITE(calls); WRITELINE;
    WRITE(~(1 = 2)); WRITE(" "); WRITE((1 = 2) = FALSE); WRITE(" "); WRITE(TRUE # FALSE); WRITELINE
END Main;
