(* As `Flows` of bench/flow/kernels.flow: here a flow is never given up. *)
COMPONENT Flows REQUIRES Packets;
  VARIABLE
    packet: TEXT;
    packets[source, destination, ends: INTEGER]: INTEGER;
    bytes[source, destination, ends: INTEGER]: INTEGER;
    ip, at, source, destination, ends: INTEGER;
    isSent: BOOLEAN;

  PROCEDURE Word(at: INTEGER): INTEGER;
  BEGIN
    RETURN INTEGER(packet[at]) * 256 + INTEGER(packet[at + 1])
  END Word;

  (* Where IPv4 begins; 0 in other packets. A tag may precede it. *)
  PROCEDURE Ipv4(): INTEGER;
    VARIABLE at: INTEGER;
  BEGIN
    at := 14;
    IF Word(12) = 8100H THEN
      at := 18
    END;
    IF Word(at - 2) # 800H THEN
      RETURN 0
    END;
    RETURN at
  END Ipv4;
BEGIN
  Packets!Open("in -> end");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  WHILE TRUE DO
    Packets!Receive;
    Packets?Packet(packet);
    ip := Ipv4();
    IF ip > 0 THEN
      source := Word(ip + 12) * 10000H + Word(ip + 14);
      destination := Word(ip + 16) * 10000H + Word(ip + 18);
      ends := INTEGER(packet[ip + 9]);
      IF (ends = 6) OR (ends = 17) THEN
        at := ip + INTEGER(packet[ip]) MOD 16 * 4;
        ends := (Word(at) * 10000H + Word(at + 2)) * 256 + ends
      END;
      IF EXISTS(packets[source, destination, ends]) THEN
        INC(packets[source, destination, ends]);
        INC(bytes[source, destination, ends], LENGTH(packet))
      ELSE
        packets[source, destination, ends] := 1;
        bytes[source, destination, ends] := LENGTH(packet)
      END
    END;
    Packets!Send(packet);
    Packets?Sent(isSent)
  END
END Flows;
