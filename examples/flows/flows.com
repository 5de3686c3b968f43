(* A component for each flow counts its packets; the main component writes what rules have found. *)

INTERFACE RulesOfFlows;
  { IN part(source, target, protocol, from, to, window, packets, bytes, isLast: INTEGER) OUT Taken }
END RulesOfFlows;

(* A flow: packets of IPv4 with the same addresses, protocol and ports, until none comes for a
   while. It gives its counts when a window of time has ended, and what is left when it ends or
   fails. *)
COMPONENT Flow REQUIRES Packets, RulesOfFlows;
  CONSTANT
    Window = 10000000000;
    Ethernet = 14;
    Tcp = 6;
    Udp = 17;
  VARIABLE
    packet: TEXT;
    source, target, protocol, from, to: INTEGER;
    at, window, packets, bytes: INTEGER;

  (* So many bytes of the packet, the most significant first. *)
  PROCEDURE Number(at, size: INTEGER): INTEGER;
    VARIABLE i, number: INTEGER;
  BEGIN
    number := 0;
    FOR i := at TO at + size - 1 DO
      number := number * 256 + INTEGER(packet[i])
    END;
    RETURN number
  END Number;

  PROCEDURE Identify;
    VARIABLE ports: INTEGER;
  BEGIN
    source := Number(Ethernet + 12, 4);
    target := Number(Ethernet + 16, 4);
    protocol := Number(Ethernet + 9, 1);
    from := 0;
    to := 0;
    IF (protocol = Tcp) OR (protocol = Udp) THEN
      ports := Ethernet + Number(Ethernet, 1) MOD 16 * 4;
      from := Number(ports, 2);
      to := Number(ports + 2, 2)
    END
  END Identify;

  PROCEDURE Report(isLast: INTEGER);
  BEGIN
    RulesOfFlows!part(source, target, protocol, from, to, window, packets, bytes, isLast);
    RulesOfFlows?Taken;
    packets := 0;
    bytes := 0
  END Report;
BEGIN
  packets := 0;
  bytes := 0;
  Packets!Open("link");
  Packets?Opened
ACTIVITY {EXCLUSIVE}
  Packets!Receive;
  WHILE ~(Packets?FINISH) DO
    Packets?Packet(packet);
    Packets!GetTime;
    Packets?Time(at);
    IF packets = 0 THEN
      Identify
    ELSIF at DIV Window # window THEN
      Report(0)
    END;
    window := at DIV Window;
    INC(packets);
    INC(bytes, Ethernet + Number(Ethernet + 2, 2));
    (* While a flow waits, its counts are all that it keeps. *)
    packet := "";
    Packets!Receive
  END
FINALLY
  IF packets > 0 THEN
    Report(1)
  END
END Flow;

INTERFACE RulesOfMain;
  { IN Next ( OUT say(change: CHARACTER; text: TEXT) | OUT over(change: CHARACTER) | OUT End ) }
END RulesOfMain;

COMPONENT {ENTRYPOINT} Main REQUIRES RulesOfMain;
  VARIABLE
    change: CHARACTER;
    text: TEXT;
BEGIN
  RulesOfMain!Next;
  WHILE RulesOfMain?say DO
    RulesOfMain?say(change, text);
    WRITE(text);
    WRITELINE;
    RulesOfMain!Next
  END
END Main;
