(* As `Port` of bench/flow/kernels.flow. *)
COMPONENT Port REQUIRES Packets;
  VARIABLE
    packet: TEXT;
    ip, at, checksum: INTEGER;
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

  (* Where the checksum of TCP or UDP is; 0 if there is none. *)
  PROCEDURE Checksum(ip: INTEGER): INTEGER;
    VARIABLE at, protocol: INTEGER;
  BEGIN
    at := ip + INTEGER(packet[ip]) MOD 16 * 4;
    protocol := INTEGER(packet[ip + 9]);
    IF protocol = 6 THEN
      RETURN at + 16
    END;
    IF (protocol = 17) AND (Word(at + 6) # 0) THEN
      RETURN at + 6
    END;
    RETURN 0
  END Checksum;
BEGIN
  Packets!Open("in -> end");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  WHILE TRUE DO
    Packets!Receive;
    Packets?Packet(packet);
    ip := Ipv4();
    IF ip > 0 THEN
      at := ip + INTEGER(packet[ip]) MOD 16 * 4 + 2;
      checksum := Checksum(ip);
      IF packet[ip + 9] = 6X THEN
        Change(at, 8080, checksum)
      ELSIF packet[ip + 9] = 11X THEN
        IF checksum > 0 THEN
          Change(at, 5353, checksum)
        ELSE
          SetWord(at, 5353)
        END
      END;
      (* A UDP checksum of 0 would say that there is none. *)
      IF (packet[ip + 9] = 11X) AND (checksum > 0) AND (Word(checksum) = 0) THEN
        SetWord(checksum, 0FFFFH)
      END
    END;
    Packets!Send(packet);
    Packets?Sent(isSent)
  END
END Port;
