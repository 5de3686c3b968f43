(* Messages without an answer arrive in order; more than fit the buffer wait. *)
INTERFACE Log; { IN Line(t: TEXT) } IN Stop OUT Stopped END Log;
COMPONENT Logger OFFERS Log;
  IMPLEMENTATION Log;
    VARIABLE t: TEXT;
    BEGIN
      WHILE ?Line DO ?Line(t); WRITE(t); WRITE(" ") END;
      ?Stop; WRITELINE; !Stopped
  END Log;
END Logger;
COMPONENT Main;
  VARIABLE l: Logger; i: INTEGER;
  BEGIN
    NEW(l);
    FOR i := 1 TO 20 DO l!Line(TEXT(i)) END;
    l!Stop; l?Stopped; WRITE("after"); WRITELINE
END Main;
