(* Four messages fit between client and server before the server takes one. *)
INTERFACE Fill; { IN Put(n: INTEGER) } IN Sum OUT Is(n: INTEGER) END Fill;
COMPONENT Slow OFFERS Fill;
  IMPLEMENTATION Fill;
    VARIABLE n, s: INTEGER;
    BEGIN
      PASSIVATE(100);
      WHILE ?Put DO ?Put(n); s := s + n END;
      ?Sum; !Is(s)
  END Fill;
END Slow;
COMPONENT Main;
  VARIABLE s: Slow {SYNCHRONOUS}; i, n: INTEGER;
  BEGIN
    NEW(s);
    FOR i := 1 TO 6 DO s!Put(i); WRITE(TIME); WRITE(" ") END;
    s!Sum; s?Is(n); WRITE(n); WRITELINE
END Main;
