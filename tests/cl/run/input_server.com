(* A server polls its client with INPUT(Message) and INPUT(ANY). *)
INTERFACE Talk; IN First(n: INTEGER) IN Second(n: INTEGER) OUT Sum(n: INTEGER) END Talk;
COMPONENT Listener OFFERS Talk;
  IMPLEMENTATION Talk;
    VARIABLE a, b: INTEGER;
    BEGIN
      WHILE ~INPUT(ANY) DO PASSIVATE(1) END;
      WRITE(INPUT(Second)); WRITE(INPUT(FINISH)); ?First(a);
      WHILE ~INPUT(Second) DO PASSIVATE(1) END;
      ?Second(b); !Sum(a + b)
  END Talk;
END Listener;
COMPONENT Main;
  VARIABLE l: Listener; n: INTEGER;
  BEGIN NEW(l); l!First(20); PASSIVATE(3); l!Second(22); l?Sum(n); WRITE(n); WRITELINE
END Main;
