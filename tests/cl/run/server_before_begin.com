(* A server process waits until BEGIN of its component has ended. *)
INTERFACE Ask; IN Get OUT Is(n: INTEGER) END Ask;
COMPONENT Slow OFFERS Ask;
  VARIABLE n, i: INTEGER;
  IMPLEMENTATION Ask;
    BEGIN {SHARED} ?Get; !Is(n)
  END Ask;
  BEGIN
    n := 1; FOR i := 1 TO 10 DO n := n * 2; PASSIVATE(1) END
END Slow;
COMPONENT Main;
  VARIABLE s: Slow; n: INTEGER;
  BEGIN NEW(s); s!Get; s?Is(n); WRITE(n); WRITELINE
END Main;
