(* options: frames.flow once.olg --listen localhost:0 -q *)

(*
  Three worlds in one program: components send frames into a packet graph, which filters them,
  and rules remember what has passed. Each frame reaches the server once.
*)
INTERFACE Client;
  IN Send(app: TEXT; first, last: INTEGER) OUT Done(sent: INTEGER)
END Client;

COMPONENT Host OFFERS Client REQUIRES Packets;
  (* 60 bytes of an Ethernet frame of our own kind, or of another. *)
  PROCEDURE Frame(number: INTEGER): TEXT;
    VARIABLE
      frame: TEXT;
      i: INTEGER;
  BEGIN
    NEW(frame, 60);
    FOR i := 0 TO 59 DO
      frame[i] := "."
    END;
    frame[12] := 88X;
    IF number MOD 5 = 4 THEN
      frame[13] := 0CCX
    ELSE
      frame[13] := 0B5X
    END;
    frame[14] := CHARACTER(48 + number);
    RETURN frame
  END Frame;

  IMPLEMENTATION Client;
    VARIABLE
      app: TEXT;
      i, first, last, sent: INTEGER;
      isSent: BOOLEAN;
  BEGIN {EXCLUSIVE}
    ?Send(app, first, last);
    Packets!Open(app);
    Packets?Opened;
    sent := 0;
    FOR i := first TO last DO
      Packets!Send(Frame(i));
      Packets?Sent(isSent);
      IF isSent THEN
        INC(sent)
      END
    END;
    Packets!Close;
    !Done(sent)
  END Client;
END Host;

COMPONENT {ENTRYPOINT} ThreeWorlds REQUIRES Packets;
  VARIABLE
    left, right: Host;
    frame: TEXT;
    i, sent: INTEGER;
BEGIN
  NEW(left);
  CONNECT(Packets(left), Packets);
  NEW(right);
  CONNECT(Packets(right), Packets);
  Packets!Open("server");
  Packets?Opened;
  left!Send("left", 0, 6);
  left?Done(sent);
  WRITE(sent);
  right!Send("right", 3, 9);
  right?Done(sent);
  WRITE(" and ");
  WRITE(sent);
  WRITE(" sent, arrived:");
  FOR i := 1 TO 8 DO
    Packets!Receive;
    Packets?Packet(frame);
    WRITE(" ");
    WRITE(frame[14])
  END;
  WRITELINE;
  Packets!Close
END ThreeWorlds;
