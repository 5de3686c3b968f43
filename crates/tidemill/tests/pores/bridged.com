(* Frames are sent to one device; the other is bridged to a graph, which is looked at. *)
COMPONENT Main REQUIRES Pore, Packets, Arguments;
  VARIABLE
    sender: EthernetDriver;
    bridge: EthernetBridge;
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
  NEW(bridge);
  CONNECT(Pore(bridge), Pore);
  CONNECT(Packets(bridge), Packets);
  bridge!Start("packet", Argument(2), "left");
  IF bridge?Failed THEN
    bridge?Failed(text);
    WRITE(text)
  ELSE
    bridge?Started;
    NEW(sender);
    CONNECT(Pore(sender), Pore);
    sender!Open("packet", Argument(1));
    sender?Opened;
    Packets!Open("right");
    Packets?Opened;
    NEW(frame, 60);
    FOR i := 0 TO 59 DO
      frame[i] := CHARACTER(65 + i MOD 26)
    END;
    frame[12] := 88X;
    frame[13] := 0B5X;
    sender!Send(frame);
    sender?Sent(isSent);
    Packets!Receive;
    Packets?Packet(text);
    WRITE(LENGTH(text));
    WRITE(" ");
    WRITE(text[14]);
    text[14] := "y";
    Packets!Send(text);
    Packets?Sent(isSent);
    REPEAT
      sender!Receive;
      sender?Frame(text)
    UNTIL (LENGTH(text) = 60) AND (text[13] = 0B5X) AND (text[14] = "y");
    WRITE(text[14])
  END;
  WRITELINE;
  HALT(0)
END Main;
