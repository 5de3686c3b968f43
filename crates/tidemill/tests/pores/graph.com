(* Frames into a graph and out of it; one kind passes. *)
INTERFACE Side;
  IN Open(app: TEXT) OUT Known(reason: TEXT)
  { IN Put(frame: TEXT) OUT Done(isSent: BOOLEAN) | IN Get OUT Got(frame: TEXT) }
END Side;

COMPONENT Client OFFERS Side REQUIRES Packets;
  IMPLEMENTATION Side;
    VARIABLE
      text: TEXT;
      isSent: BOOLEAN;
  BEGIN {EXCLUSIVE}
    ?Open(text);
    Packets!Open(text);
    IF Packets?Opened THEN
      Packets?Opened;
      !Known("");
      WHILE ~?FINISH DO
        IF ?Put THEN
          ?Put(text);
          Packets!Send(text);
          Packets?Sent(isSent);
          !Done(isSent)
        ELSE
          ?Get;
          Packets!Receive;
          Packets?Packet(text);
          !Got(text)
        END
      END;
      Packets!Close
    ELSE
      Packets?Failed(text);
      !Known(text)
    END
  END Side;
END Client;

COMPONENT Main REQUIRES Packets;
  VARIABLE
    left, right, nowhere: Client;
    reason, frame: TEXT;
    isSent: BOOLEAN;
    i: INTEGER;

  PROCEDURE Frame(kind: CHARACTER; number: INTEGER): TEXT;
    VARIABLE
      frame: TEXT;
      i: INTEGER;
  BEGIN
    NEW(frame, 60);
    FOR i := 0 TO 59 DO
      frame[i] := CHARACTER(65 + i MOD 26)
    END;
    frame[12] := 88X;
    frame[13] := kind;
    frame[14] := CHARACTER(48 + number);
    RETURN frame
  END Frame;
BEGIN
  NEW(left);
  CONNECT(Packets(left), Packets);
  NEW(right);
  CONNECT(Packets(right), Packets);
  NEW(nowhere);
  CONNECT(Packets(nowhere), Packets);
  nowhere!Open("nowhere");
  nowhere?Known(reason);
  WRITE(reason);
  WRITELINE;
  left!Open("left");
  left?Known(reason);
  right!Open("right");
  right?Known(reason);
  FOR i := 0 TO 9 DO
    IF i MOD 2 = 0 THEN
      left!Put(Frame(0B5X, i))
    ELSE
      left!Put(Frame(0CCX, i))
    END;
    left?Done(isSent);
    ASSERT(isSent)
  END;
  FOR i := 0 TO 4 DO
    right!Get;
    right?Got(frame);
    WRITE(frame[14]);
    frame[14] := "x";
    right!Put(frame);
    right?Done(isSent);
    left!Get;
    left?Got(frame);
    WRITE(frame[14])
  END;
  WRITELINE
END Main;
