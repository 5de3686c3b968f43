(*
  A host on a device: frames go between the device and a packet graph, which answers for the host.
  Runs with the drivers ethernet.com and bridge.com. Arguments: the kind of the pore (`packet`,
  `tap` or `xdp`) and the device.
*)
COMPONENT {ENTRYPOINT} Host REQUIRES Pore, Packets, Arguments;
  VARIABLE
    bridge: EthernetBridge;
    kind, device, reason: TEXT;
BEGIN
  Arguments!Get(1);
  Arguments?Argument(kind);
  Arguments!Get(2);
  Arguments?Argument(device);
  NEW(bridge);
  CONNECT(Pore(bridge), Pore);
  CONNECT(Packets(bridge), Packets);
  bridge!Start(kind, device, "wire");
  IF bridge?Started THEN
    bridge?Started;
    WRITE("the host is at ");
    WRITE(device);
    WRITELINE
  ELSE
    bridge?Failed(reason);
    WRITE(reason);
    WRITELINE;
    HALT(1)
  END
ACTIVITY {SHARED}
  AWAIT(TERMINATED())
END Host;
