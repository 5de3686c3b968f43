(* Live across calls before and after a loop that has none: ranges are split where it begins and
   ends. *)
COMPONENT {ENTRYPOINT} Split;
  PROCEDURE Sum(n: INTEGER): REAL;
    VARIABLE i: INTEGER; sum, step: REAL;
  BEGIN
    step := COS(REAL(n)); sum := SIN(step);
    WRITE(n); WRITE(sum); WRITE(step); WRITELINE;
    FOR i := 1 TO n DO sum := sum + step END;
    WRITE(n); WRITE(sum); WRITE(step); WRITELINE;
    RETURN SIN(sum) + step
  END Sum;
BEGIN
  WRITE(Sum(1000))
END Split;
