(*
  A device and a packet graph: what the device receives goes into the graph, what the graph sends
  there goes to the device. To be used with ethernet.com; Start takes the kind of the pore and the
  name of the device, and the name of the `Outside` in the graph.

  Two processes share the work, each with a connection of its own to both; neither holds more than
  one frame, and what the other side does not take is dropped there.
*)
INTERFACE Bridge;
  IN Start(kind, device, app: TEXT) ( OUT Failed(reason: TEXT) | OUT Started )
END Bridge;

INTERFACE Pump;
  IN Begin(kind, device, app: TEXT) ( OUT Broken(reason: TEXT) | OUT Begun )
END Pump;

COMPONENT Inward OFFERS Pump REQUIRES Ethernet, Packets;
  VARIABLE isOpen: BOOLEAN;

  PROCEDURE Carry;
    VARIABLE
      frame: TEXT;
      isSent: BOOLEAN;
  BEGIN
    Ethernet!Receive;
    IF Ethernet?Frame THEN
      Ethernet?Frame(frame);
      Packets!Send(frame);
      Packets?Sent(isSent)
    ELSE
      Ethernet?Gone;
      isOpen := FALSE
    END
  END Carry;

  IMPLEMENTATION Pump;
    VARIABLE kind, device, app, reason: TEXT;
  BEGIN
    ?Begin(kind, device, app);
    BEGIN {EXCLUSIVE}
      reason := "";
      Packets!Open(app);
      IF Packets?Failed THEN
        Packets?Failed(reason)
      ELSE
        Packets?Opened;
        Ethernet!Open(kind, device);
        IF Ethernet?Failed THEN
          Ethernet?Failed(reason)
        ELSE
          Ethernet?Opened;
          isOpen := TRUE
        END
      END
    END;
    IF reason = "" THEN
      !Begun
    ELSE
      !Broken(reason)
    END
  END Pump;
BEGIN
  isOpen := FALSE
ACTIVITY {EXCLUSIVE}
  AWAIT(isOpen OR TERMINATED());
  WHILE isOpen AND ~TERMINATED() DO
    Carry
  END
END Inward;

COMPONENT Outward OFFERS Pump REQUIRES Ethernet, Packets;
  VARIABLE isOpen: BOOLEAN;

  PROCEDURE Carry;
    VARIABLE
      packet: TEXT;
      isSent: BOOLEAN;
  BEGIN
    Packets!Receive;
    Packets?Packet(packet);
    Ethernet!Send(packet);
    Ethernet?Sent(isSent)
  END Carry;

  IMPLEMENTATION Pump;
    VARIABLE kind, device, app, reason: TEXT;
  BEGIN
    ?Begin(kind, device, app);
    BEGIN {EXCLUSIVE}
      reason := "";
      Packets!Open(app);
      IF Packets?Failed THEN
        Packets?Failed(reason)
      ELSE
        Packets?Opened;
        Ethernet!Open(kind, device);
        IF Ethernet?Failed THEN
          Ethernet?Failed(reason)
        ELSE
          Ethernet?Opened;
          isOpen := TRUE
        END
      END
    END;
    IF reason = "" THEN
      !Begun
    ELSE
      !Broken(reason)
    END
  END Pump;
BEGIN
  isOpen := FALSE
ACTIVITY {EXCLUSIVE}
  AWAIT(isOpen OR TERMINATED());
  WHILE isOpen AND ~TERMINATED() DO
    Carry
  END
END Outward;

COMPONENT EthernetBridge OFFERS Bridge REQUIRES Pore, Packets;
  VARIABLE
    driver: EthernetDriver;
    inward: Inward;
    outward: Outward;

  IMPLEMENTATION Bridge;
    VARIABLE kind, device, app, reason: TEXT;
  BEGIN {EXCLUSIVE}
    ?Start(kind, device, app);
    reason := "";
    inward!Begin(kind, device, app);
    IF inward?Broken THEN
      inward?Broken(reason)
    ELSE
      inward?Begun;
      outward!Begin(kind, device, app);
      IF outward?Broken THEN
        outward?Broken(reason)
      ELSE
        outward?Begun
      END
    END;
    IF reason = "" THEN
      !Started
    ELSE
      !Failed(reason)
    END
  END Bridge;
BEGIN
  NEW(driver);
  CONNECT(Pore(driver), Pore);
  NEW(inward);
  CONNECT(Ethernet(inward), Ethernet(driver));
  CONNECT(Packets(inward), Packets);
  NEW(outward);
  CONNECT(Ethernet(outward), Ethernet(driver));
  CONNECT(Packets(outward), Packets)
END EthernetBridge;
