(* SystemTime: ticks are milliseconds and do not run backwards. *)
COMPONENT Main REQUIRES SystemTime;
  VARIABLE before, after: INTEGER;
  PROCEDURE Now(): INTEGER;
    VARIABLE t: INTEGER;
    BEGIN SystemTime!GetSystemTime; SystemTime?SystemTime(t); RETURN t
  END Now;
  BEGIN
    before := Now(); SystemTime!Wait(2); SystemTime?Passed; after := Now();
    WRITE(after >= before); WRITELINE
END Main;
