(* As `Count` of bench/flow/kernels.flow. *)
COMPONENT Count REQUIRES Packets;
  VARIABLE
    packet: TEXT;
    packets, bytes: INTEGER;
    isSent: BOOLEAN;
BEGIN
  packets := 0;
  bytes := 0;
  Packets!Open("in -> end");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  WHILE TRUE DO
    Packets!Receive;
    Packets?Packet(packet);
    INC(packets);
    INC(bytes, LENGTH(packet));
    Packets!Send(packet);
    Packets?Sent(isSent)
  END
END Count;
