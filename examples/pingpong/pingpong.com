(* Two components send a ball to and fro: Savina's first benchmark. *)
INTERFACE Ball;
  { IN Ping(n: INTEGER) OUT Pong(n: INTEGER) } IN Stop
END Ball;

COMPONENT Ponger OFFERS Ball;
  IMPLEMENTATION Ball;
    VARIABLE n: INTEGER;
    BEGIN
      WHILE ?Ping DO ?Ping(n); !Pong(n + 1) END;
      ?Stop
  END Ball;
END Ponger;

COMPONENT PingPong REQUIRES Arguments;
  VARIABLE ponger: Ponger; rounds, i, n: INTEGER; text: TEXT;
  BEGIN
    Arguments!Get(1); Arguments?Argument(text);
    IF text = "" THEN rounds := 1000 ELSE rounds := INTEGER(text) END;
    NEW(ponger); n := 0;
    FOR i := 1 TO rounds DO ponger!Ping(n); ponger?Pong(n) END;
    ponger!Stop;
    WRITE(n); WRITE(" pongs"); WRITELINE
END PingPong;
