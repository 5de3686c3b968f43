(*
  Frames of a device: a driver as a component. Open takes the kind of the pore (`packet` for what an
  interface receives, `tap` for a device of our own) and its name.
*)
INTERFACE Ethernet;
  IN Open(kind, name: TEXT) ( OUT Failed(reason: TEXT) | OUT Opened { IN Send(frame: TEXT)
      OUT Sent(isSent: BOOLEAN) | IN Receive ( OUT Frame(frame: TEXT) | OUT Gone ) } IN Close )
END Ethernet;

COMPONENT EthernetDriver OFFERS Ethernet REQUIRES Pore;
  CONSTANT
    FrameBytes = 65536;
    Frames = 256;
  VARIABLE
    isOpen, isBroken, isArmed, isEvent: BOOLEAN;
    reason: TEXT;
    frame[place: INTEGER]: TEXT {ARRAY};
    first, last: INTEGER;

  PROCEDURE Open(kind, name: TEXT);
    VARIABLE size: INTEGER;
  BEGIN
    IF ~isOpen AND ~isBroken THEN
      Pore!Open(kind, name);
      IF Pore?Opened THEN
        Pore?Opened(size);
        isOpen := TRUE;
        isArmed := TRUE;
        Pore!Arm(1, 0)
      ELSE
        Pore?Failed(reason);
        isBroken := TRUE
      END
    END
  END Open;

  (* An event may come before the answer to what was asked, whenever one was armed for. *)
  PROCEDURE Heed;
    VARIABLE readable, writable: INTEGER;
  BEGIN
    IF Pore?Event THEN
      Pore?Event(readable, writable);
      isEvent := TRUE
    ELSIF Pore?Trouble THEN
      Pore?Trouble(reason);
      isBroken := TRUE
    END
  END Heed;

  (* Takes frames as long as there are some, and room for them: the others stay in the device. *)
  PROCEDURE Take;
    VARIABLE data: TEXT;
  BEGIN
    IF isArmed THEN
      IF ~isEvent THEN
        Heed
      END;
      isEvent := FALSE;
      isArmed := FALSE
    END;
    data := " ";
    WHILE ~isBroken AND (LENGTH(data) > 0) AND (last - first < Frames) DO
      Pore!Read(FrameBytes);
      Pore?Data(data);
      IF LENGTH(data) > 0 THEN
        frame[last MOD Frames] := data;
        INC(last)
      END
    END;
    IF ~isBroken AND (last - first < Frames) THEN
      Pore!Arm(1, 0);
      isArmed := TRUE
    END
  END Take;

  IMPLEMENTATION Ethernet;
    VARIABLE
      kind, data: TEXT;
      accepted: INTEGER;
      isGood: BOOLEAN;
  BEGIN
    ?Open(kind, data);
    BEGIN {EXCLUSIVE}
      Open(kind, data);
      isGood := ~isBroken;
      data := reason
    END;
    IF isGood THEN
      !Opened;
      WHILE ~?Close AND ~?FINISH DO
        IF ?Send THEN
          ?Send(data);
          BEGIN {EXCLUSIVE}
            accepted := 0;
            IF ~isBroken THEN
              Pore!Write(data);
              Heed;
              Pore?Accepted(accepted);
              Pore!Ring
            END
          END;
          !Sent(accepted > 0)
        ELSE
          ?Receive;
          BEGIN {EXCLUSIVE}
            AWAIT((first < last) OR isBroken);
            isGood := first < last;
            IF isGood THEN
              data := frame[first MOD Frames];
              frame[first MOD Frames] := "";
              INC(first)
            END
          END;
          IF isGood THEN
            !Frame(data)
          ELSE
            !Gone
          END
        END
      END;
      IF ?Close THEN
        ?Close
      END
    ELSE
      !Failed(data)
    END
  END Ethernet;
BEGIN
  isOpen := FALSE;
  isBroken := FALSE;
  isEvent := FALSE;
  isArmed := FALSE;
  reason := "";
  NEW(frame, Frames);
  first := 0;
  last := 0
ACTIVITY {EXCLUSIVE}
  AWAIT(isOpen OR TERMINATED());
  WHILE ~TERMINATED() AND ~isBroken DO
    AWAIT(TERMINATED() OR isEvent OR INPUT(Pore, ANY) OR ~isArmed AND (last - first < Frames));
    IF ~TERMINATED() THEN
      Take
    END
  END
END EthernetDriver;
