(* As `Mac` of bench/flow/kernels.flow. *)
COMPONENT Mac REQUIRES Packets;
  VARIABLE
    packet: TEXT;
    i: INTEGER;
    isSent: BOOLEAN;
BEGIN
  Packets!Open("in -> end");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  WHILE TRUE DO
    Packets!Receive;
    Packets?Packet(packet);
    FOR i := 0 TO 11 DO
      packet[i] := 0X
    END;
    packet[0] := 2X;
    packet[5] := 0AX;
    packet[6] := 2X;
    packet[11] := 0BX;
    Packets!Send(packet);
    Packets?Sent(isSent)
  END
END Mac;
