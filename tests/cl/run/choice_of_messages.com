(* A server tests which message is there; alternatives, options and repetitions in one protocol. *)
INTERFACE Shop;
  IN Enter { IN Buy(n: INTEGER) [ OUT TooMuch ] | IN Look OUT Seen(n: INTEGER) } IN Leave OUT Bill(n: INTEGER)
END Shop;
COMPONENT Store OFFERS Shop;
  IMPLEMENTATION Shop;
    VARIABLE n, sum: INTEGER;
    BEGIN
      ?Enter; sum := 0;
      WHILE ~?Leave DO
        IF ?Buy THEN ?Buy(n); sum := sum + n; IF n > 5 THEN !TooMuch END
        ELSE ?Look; !Seen(sum)
        END
      END;
      ?Leave; !Bill(sum)
  END Shop;
END Store;
COMPONENT Main;
  VARIABLE s: Store; n: INTEGER;
  BEGIN
    NEW(s);
    s!Enter; s!Buy(3); s!Buy(4); s!Look; s?Seen(n); WRITE(n); WRITE(" ");
    s!Buy(9); s?TooMuch; s!Leave; s?Bill(n); WRITE(n); WRITELINE;
    s!Enter; s!Leave; s?Bill(n); WRITE(n); WRITELINE
END Main;
