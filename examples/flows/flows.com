(* A component for each flow counts its packets; the main component writes what rules have found. *)

INTERFACE Counting;
  { IN Packet(source, target, protocol, from, to, id, at, length: INTEGER) { OUT Part(source,
      target, protocol, from, to, window, packets, bytes, isLast: INTEGER) } OUT Done }
END Counting;

INTERFACE RulesOfFlows;
  { IN part(source, target, protocol, from, to, window, packets, bytes, isLast: INTEGER) OUT Taken }
END RulesOfFlows;

(* A flow: packets with the same addresses, protocol and ports, until none comes for a while. It
   gives its counts when a window of time has ended, and what is left when it ends or fails. *)
COMPONENT Flow OFFERS Counting REQUIRES RulesOfFlows;
  CONSTANT Window = 10000000000;
  VARIABLE source, target, protocol, from, to, window, packets, bytes: INTEGER;

  IMPLEMENTATION Counting;
    VARIABLE id, at, length: INTEGER;
  BEGIN
    WHILE ?Packet DO
      BEGIN {EXCLUSIVE}
        ?Packet(source, target, protocol, from, to, id, at, length);
        IF (at DIV Window # window) AND (packets > 0) THEN
          !Part(source, target, protocol, from, to, window, packets, bytes, 0);
          packets := 0;
          bytes := 0
        END;
        window := at DIV Window;
        INC(packets);
        INC(bytes, length)
      END;
      !Done
    END
  END Counting;
FINALLY
  IF packets > 0 THEN
    RulesOfFlows!part(source, target, protocol, from, to, window, packets, bytes, 1);
    RulesOfFlows?Taken
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
