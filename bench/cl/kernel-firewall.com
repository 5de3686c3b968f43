(* As `Firewall` of bench/flow/kernels.flow. *)
COMPONENT Firewall REQUIRES Packets;
  VARIABLE
    packet: TEXT;
    ip: INTEGER;
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

  PROCEDURE IsAllowed(ip: INTEGER): BOOLEAN;
    VARIABLE at, source, destination: INTEGER;
  BEGIN
    IF (packet[ip + 12] # 0AX) AND (packet[ip + 16] # 0AX) THEN
      RETURN FALSE
    END;
    at := ip + INTEGER(packet[ip]) MOD 16 * 4;
    source := Word(at);
    destination := Word(at + 2);
    IF packet[ip + 9] = 6X THEN
      RETURN (destination = 80) OR (destination = 443) OR (source = 80) OR (source = 443)
    END;
    RETURN (packet[ip + 9] = 11X) AND ((destination = 53) OR (source = 53))
  END IsAllowed;
BEGIN
  Packets!Open("in -> end");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  WHILE TRUE DO
    Packets!Receive;
    Packets?Packet(packet);
    ip := Ipv4();
    IF ip > 0 THEN
      IF IsAllowed(ip) THEN
        Packets!Send(packet);
        Packets?Sent(isSent)
      END
    END
  END
END Firewall;
