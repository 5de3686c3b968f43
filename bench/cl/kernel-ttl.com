(* As `Ttl` of bench/flow/kernels.flow. *)
COMPONENT Ttl REQUIRES Packets;
  VARIABLE
    packet: TEXT;
    ip, ttl: INTEGER;
    isExpired: BOOLEAN;
    isSent: BOOLEAN;

  PROCEDURE Word(at: INTEGER): INTEGER;
  BEGIN
    RETURN INTEGER(packet[at]) * 256 + INTEGER(packet[at + 1])
  END Word;

  PROCEDURE SetWord(at, word: INTEGER);
  BEGIN
    packet[at] := CHARACTER(word DIV 256);
    packet[at + 1] := CHARACTER(word MOD 256)
  END SetWord;

  (* Writes a word, and corrects a checksum that covers it (RFC 1624). *)
  PROCEDURE Change(at, word, checksum: INTEGER);
    VARIABLE sum: INTEGER;
  BEGIN
    sum := 0FFFFH - Word(checksum) + 0FFFFH - Word(at) + word;
    sum := sum MOD 10000H + sum DIV 10000H;
    sum := sum MOD 10000H + sum DIV 10000H;
    SetWord(checksum, 0FFFFH - sum);
    SetWord(at, word)
  END Change;

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
    isExpired := FALSE;
    IF ip > 0 THEN
      ttl := INTEGER(packet[ip + 8]);
      isExpired := ttl <= 1;
      IF ~isExpired THEN
        Change(ip + 8, Word(ip + 8) - 256, ip + 10)
      END
    END;
    IF ~isExpired THEN
      Packets!Send(packet);
      Packets?Sent(isSent)
    END
  END
END Ttl;
