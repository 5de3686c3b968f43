(* As `Sum` of bench/flow/kernels.flow: of the sum only the low bits count. *)
COMPONENT Sum REQUIRES Packets;
  CONSTANT
    First = 6;
    Last = 37;
  VARIABLE
    packet: TEXT;
    i, sum: INTEGER;
    isSent: BOOLEAN;
BEGIN
  Packets!Open("in -> end");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  WHILE TRUE DO
    Packets!Receive;
    Packets?Packet(packet);
    sum := 0;
    FOR i := First TO Last DO
      sum := sum * 31 MOD 256;
      IF i < LENGTH(packet) THEN
        sum := (sum + INTEGER(packet[i])) MOD 256
      END
    END;
    IF sum < 128 THEN
      Packets!Send(packet);
      Packets?Sent(isSent)
    END
  END
END Sum;
