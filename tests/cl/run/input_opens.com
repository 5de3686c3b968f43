(* INPUT opens a communication that begins with OUT and does not wait; as a condition it holds when the message is there, also if the interface is connected later. *)
INTERFACE Events; { OUT Event(x: INTEGER) } OUT End END Events;

COMPONENT Source OFFERS Events;
  IMPLEMENTATION Events;
    VARIABLE i: INTEGER;
    BEGIN
      FOR i := 1 TO 3 DO PASSIVATE(10); !Event(i) END;
      !End
  END Events;
END Source;

INTERFACE Done; IN Wait OUT Done END Done;

COMPONENT Sink OFFERS Done REQUIRES Events;
  VARIABLE sum: INTEGER; done: BOOLEAN;
  IMPLEMENTATION Done;
    BEGIN ?Wait; BEGIN {EXCLUSIVE} AWAIT(done) END; !Done
  END Done;
  PROCEDURE Read;
    VARIABLE x: INTEGER;
    BEGIN Events?Event(x); INC(sum, x); WRITE(x); WRITELINE
  END Read;
  ACTIVITY {EXCLUSIVE}
    WRITE(INPUT(Events, Event)); WRITELINE;
    REPEAT
      AWAIT(INPUT(Events, ANY));
      IF Events?Event THEN
        Read
      ELSE
        Events?End; done := TRUE
      END
    UNTIL done;
    WRITE(sum); WRITELINE
END Sink;

COMPONENT Main;
  VARIABLE source: Source; sink: Sink; x: INTEGER;
  BEGIN
    NEW(sink); NEW(source);
    PASSIVATE(5);
    CONNECT(Events(sink), source);
    WRITE(INPUT(source, Event)); WRITELINE;
    sink!Wait; sink?Done;
    WHILE ~INPUT(source, Event) DO PASSIVATE(1) END;
    source?Event(x); WRITE(x); WRITELINE
END Main;
