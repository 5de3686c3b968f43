(*
  Port 22 is open to those who have knocked: a source that has sent datagrams to the ports 7000, 8000
  and 9000, in this order. A wrong knock, and it has to begin anew. Knocks go no further; what is
  not for port 22 passes.
*)
COMPONENT PortKnocker REQUIRES Packets;
  CONSTANT
    Type = 12;
    Version = 14;
    Protocol = 23;
    Source = 26;
    Port = 36;
    Ports = 38;
    Tcp = 6;
    Udp = 17;
    Guarded = 22;
    First = 7000;
    Step = 1000;
    Knocks = 3;
    SourcesMax = 10000;
  VARIABLE
    (* How many right knocks a source has made in a row. *)
    knocks[source: INTEGER]: INTEGER;
    sources: INTEGER;
    packet: TEXT;
    isSent: BOOLEAN;

  (* A number of a header; its first byte is the highest. *)
  PROCEDURE Number(at, bytes: INTEGER): INTEGER;
    VARIABLE i, number: INTEGER;
  BEGIN
    number := 0;
    FOR i := at TO at + bytes - 1 DO
      number := number * 256 + INTEGER(packet[i])
    END;
    RETURN number
  END Number;

  (* A source has knocked at a port. Those of too many sources are forgotten. *)
  PROCEDURE Knock(source, port: INTEGER);
    VARIABLE other: INTEGER;
  BEGIN
    IF ~EXISTS(knocks[source]) THEN
      IF sources = SourcesMax THEN
        FOREACH other OF knocks DO
          DELETE(knocks[other])
        END;
        sources := 0
      END;
      knocks[source] := 0;
      INC(sources)
    END;
    IF port = First + Step * knocks[source] THEN
      INC(knocks[source])
    ELSIF port = First THEN
      knocks[source] := 1
    ELSIF knocks[source] < Knocks THEN
      knocks[source] := 0
    END
  END Knock;

  (* Whether the packet passes. *)
  PROCEDURE Passes(): BOOLEAN;
    VARIABLE source, port: INTEGER;
  BEGIN
    IF (LENGTH(packet) < Ports) OR (Number(Type, 2) # 800H) OR (Number(Version, 1) # 45H) THEN
      RETURN TRUE
    END;
    source := Number(Source, 4);
    port := Number(Port, 2);
    IF (Number(Protocol, 1) = Udp) AND (port >= First) AND (port < First + Step * Knocks) THEN
      Knock(source, port);
      RETURN FALSE
    END;
    IF (Number(Protocol, 1) # Tcp) OR (port # Guarded) THEN
      RETURN TRUE
    END;
    RETURN EXISTS(knocks[source]) AND (knocks[source] = Knocks)
  END Passes;
BEGIN
  sources := 0;
  Packets!Open("in -> out");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  WHILE TRUE DO
    Packets!Receive;
    Packets?Packet(packet);
    IF Passes() THEN
      Packets!Send(packet);
      Packets?Sent(isSent)
    END
  END
END PortKnocker;
