(* As `Routes` of bench/flow/kernels.flow, with the same routes. *)
COMPONENT Routes REQUIRES Packets;
  VARIABLE
    packet: TEXT;
    hop[net, bits: INTEGER]: INTEGER;
    ip, address, net, bits: INTEGER;
    isRouted: BOOLEAN;
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

  PROCEDURE FillRoutes();
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 0 TO 254 BY 2 DO
      hop[i * 1000000H, 8] := i + 1
    END;
    FOR i := 0 TO 3 DO
      hop[0A000000H + i * 10000H, 16] := i + 1000
    END;
    FOR i := 0 TO 251 DO
      hop[0A000000H + i MOD 4 * 10000H + i DIV 4 * 4 * 256, 24] := i + 2000
    END
  END FillRoutes;
BEGIN
  FillRoutes();
  Packets!Open("in -> end");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  WHILE TRUE DO
    Packets!Receive;
    Packets?Packet(packet);
    ip := Ipv4();
    isRouted := TRUE;
    IF ip > 0 THEN
      address := Word(ip + 16) * 10000H + Word(ip + 18);
      bits := 24;
      net := address DIV 256 * 256;
      WHILE (bits > 0) AND ~EXISTS(hop[net, bits]) DO
        bits := bits - 8;
        IF bits = 16 THEN
          net := address DIV 10000H * 10000H
        ELSE
          net := address DIV 1000000H * 1000000H
        END
      END;
      isRouted := bits > 0;
      IF isRouted THEN
        SetWord(0, 200H);
        SetWord(2, 0);
        SetWord(4, hop[net, bits])
      END
    END;
    IF isRouted THEN
      Packets!Send(packet);
      Packets?Sent(isSent)
    END
  END
END Routes;
