(* options: ../telemetry/telemetry.proto *)
(* Makes a reading as a sensor sends it, and reads it as a collector does. *)
COMPONENT Messenger REQUIRES Messages;
  VARIABLE
    place, count, sample: INTEGER;
    celsius: REAL;
    bytes, text: TEXT;

  PROCEDURE Done;
  BEGIN
    IF Messages?Done THEN
      Messages?Done
    ELSE
      Messages?Failed(text);
      WRITE("refused: ");
      WRITE(text);
      WRITELINE
    END
  END Done;
BEGIN
  Messages!New("telemetry.Reading");
  Done;
  Messages!SetInteger("device", 7);
  Done;
  Messages!SetReal("position.latitude", 48.25);
  Done;
  Messages!SetReal("celsius", 21.5);
  Done;
  Messages!SetText("state", "STATE_MOVING");
  Done;
  Messages!SetText("labels[line]", "north");
  Done;
  FOR place := 0 TO 2 DO
    Messages!Index(place);
    Done;
    Messages!SetInteger("samples[]", place * place);
    Done
  END;
  Messages!SetInteger("device", -1);
  Done;
  Messages!Encode;
  Messages?Text(bytes);
  WRITE(LENGTH(bytes));
  WRITE(" bytes");
  WRITELINE;

  Messages!Decode("telemetry.Reading", bytes);
  Done;
  Messages!GetReal("celsius");
  Messages?Real(celsius);
  Messages!GetText("labels[line]");
  Messages?Text(text);
  WRITE(celsius);
  WRITE(" on line ");
  WRITE(text);
  WRITE(", samples");
  Messages!Count("samples");
  Messages?Integer(count);
  FOR place := 0 TO count - 1 DO
    Messages!Index(place);
    Done;
    Messages!GetInteger("samples[]");
    Messages?Integer(sample);
    WRITE(" ");
    WRITE(sample)
  END;
  WRITELINE;
  Messages!Decode("telemetry.Reading", "no message");
  Done
END Messenger;
