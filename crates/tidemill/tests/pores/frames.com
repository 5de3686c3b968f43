(* Sends frames to one device until one comes from the other, and shows it. *)
COMPONENT Main REQUIRES Pore, Arguments, SystemTime;
  VARIABLE
    sender, receiver: EthernetDriver;
    frame, text: TEXT;
    i: INTEGER;
    isSent: BOOLEAN;

  PROCEDURE Argument(i: INTEGER): TEXT;
    VARIABLE text: TEXT;
  BEGIN
    Arguments!Get(i);
    Arguments?Argument(text);
    RETURN text
  END Argument;
BEGIN
  NEW(sender);
  CONNECT(Pore(sender), Pore);
  NEW(receiver);
  CONNECT(Pore(receiver), Pore);
  sender!Open(Argument(3), Argument(1));
  receiver!Open(Argument(3), Argument(2));
  IF sender?Failed THEN
    sender?Failed(text);
    WRITE(text)
  ELSE
    sender?Opened;
    IF receiver?Failed THEN
      receiver?Failed(text);
      WRITE(text)
    ELSE
      receiver?Opened;
      NEW(frame, 60);
      FOR i := 0 TO 5 DO
        frame[i] := 0FFX;
        frame[6 + i] := 2X
      END;
      frame[12] := 88X;
      frame[13] := 0B5X;
      FOR i := 14 TO 59 DO
        frame[i] := CHARACTER(65 + i MOD 26)
      END;
      sender!Send(frame);
      sender?Sent(isSent);
      text := "";
      REPEAT
        receiver!Receive;
        receiver?Frame(text)
      UNTIL (LENGTH(text) = 60) AND (text[13] = 0B5X);
      FOR i := 14 TO 59 DO
        WRITE(text[i])
      END;
      receiver!Close
    END
  END;
  WRITELINE
END Main;
