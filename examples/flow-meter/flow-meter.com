(*
  One flow: its first packets pass, the rest do not, and at its end it says what it was. The app
  Script makes one of these for each flow.
*)
COMPONENT FlowMeter REQUIRES Packets;
  CONSTANT
    Source = 26;
    Destination = 30;
    SourcePort = 34;
    DestinationPort = 36;
    Headers = 38;
    PassedMax = 2;
  VARIABLE
    packet: TEXT;
    packets, bytes: INTEGER;
    isSent: BOOLEAN;

  (* A byte of the last packet. *)
  PROCEDURE Byte(at: INTEGER): INTEGER;
  BEGIN
    RETURN INTEGER(packet[at])
  END Byte;

  (* Address and port. *)
  PROCEDURE WriteEnd(address, port: INTEGER);
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 0 TO 3 DO
      IF i > 0 THEN WRITE(".") END;
      WRITE(Byte(address + i))
    END;
    WRITE(":");
    WRITE(Byte(port) * 256 + Byte(port + 1))
  END WriteEnd;
BEGIN
  packets := 0;
  bytes := 0;
  Packets!Open("in -> out");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  Packets!Receive;
  WHILE ~(Packets?FINISH) DO
    Packets?Packet(packet);
    INC(packets);
    INC(bytes, LENGTH(packet));
    IF packets <= PassedMax THEN
      Packets!Send(packet);
      Packets?Sent(isSent)
    END;
    Packets!Receive
  END
FINALLY
  IF LENGTH(packet) >= Headers THEN
    WriteEnd(Source, SourcePort);
    WRITE(" > ");
    WriteEnd(Destination, DestinationPort);
    WRITE(": ");
    WRITE(packets);
    WRITE(" packets, ");
    WRITE(bytes);
    WRITE(" bytes");
    WRITELINE
  END
END FlowMeter;
