(* A message that is made, encoded, decoded, read and changed; what is wrong is answered. *)
COMPONENT Main REQUIRES Messages;
  VARIABLE
    n, i: INTEGER;
    r: REAL;
    t, bytes: TEXT;
    b: BOOLEAN;

  PROCEDURE Did;
  BEGIN
    IF Messages?Done THEN
      Messages?Done;
      WRITE("done")
    ELSE
      Messages?Failed(t);
      WRITE("failed: ");
      WRITE(t)
    END;
    WRITELINE
  END Did;
BEGIN
  Messages!New("telemetry.Reading");
  Did;
  Messages!SetInteger("device", 7);
  Did;
  Messages!SetReal("celsius", 21.5);
  Did;
  Messages!SetReal("position.latitude", 48.1);
  Did;
  Messages!SetInteger("samples[0]", 3);
  Did;
  Messages!SetInteger("samples[1]", 0 - 4);
  Did;
  Messages!SetInteger("samples[5]", 1);
  Did;
  Messages!SetText("labels[a.b]", "west");
  Did;
  Messages!SetText("state", "STATE_MOVING");
  Did;
  Messages!SetText("state", "STATE_LOST");
  Did;
  Messages!SetText("celsius", "warm");
  Did;
  Messages!SetInteger("device", 0 - 1);
  Did;
  Messages!SetInteger("devise", 1);
  Did;
  Messages!SetInteger("samples", 1);
  Did;
  Messages!Encode;
  Messages?Text(bytes);
  WRITE(LENGTH(bytes));
  WRITELINE;
  Messages!Decode("telemetry.Reading", bytes);
  Did;
  Messages!GetInteger("device");
  Messages?Integer(n);
  WRITE(n);
  WRITELINE;
  Messages!GetReal("position.latitude");
  Messages?Real(r);
  WRITE(r);
  WRITELINE;
  Messages!GetReal("position.longitude");
  Messages?Real(r);
  WRITE(r);
  WRITELINE;
  Messages!Count("samples");
  Messages?Integer(n);
  FOR i := 0 TO n - 1 DO
    Messages!Index(i);
    Messages?Done;
    Messages!GetInteger("samples[]");
    Messages?Integer(n);
    WRITE(n);
    WRITE(" ")
  END;
  WRITELINE;
  Messages!GetText("labels[a.b]");
  Messages?Text(t);
  WRITE(t);
  WRITELINE;
  Messages!GetText("state");
  Messages?Text(t);
  WRITE(t);
  WRITELINE;
  Messages!Has("at");
  Messages?Boolean(b);
  WRITE(b);
  WRITELINE;
  Messages!Has("position.latitude");
  Messages?Boolean(b);
  WRITE(b);
  WRITELINE;
  Messages!Clear("position");
  Did;
  Messages!Has("position.latitude");
  Messages?Boolean(b);
  WRITE(b);
  WRITELINE;
  Messages!Clear("samples[0]");
  Did;
  Messages!GetInteger("samples[0]");
  Messages?Integer(n);
  WRITE(n);
  WRITELINE;
  Messages!Decode("telemetry.Reading", "zzz");
  Did;
  Messages!GetInteger("device");
  Messages?Integer(n);
  WRITE(n);
  WRITELINE;
  Messages!GetText("device");
  Did
END Main;
