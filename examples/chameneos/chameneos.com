(*
  Chameneos meet in pairs at a mall and change their colours: two of one colour keep it, two of
  different colours take the third. The sum of all meetings is twice the number of pairs.
*)
INTERFACE Mall;
  { IN Come(colour: INTEGER) ( OUT Other(partner: INTEGER) | OUT Closed ) }
END Mall;

INTERFACE Opening;
  IN Open(pairs: INTEGER) OUT Ready
END Opening;

INTERFACE Meetings;
  IN Ask OUT Met(times: INTEGER)
END Meetings;

COMPONENT Forest OFFERS Mall, Opening;
  VARIABLE left, waiting, first, second: INTEGER; open: BOOLEAN;

  IMPLEMENTATION Opening;
    BEGIN {EXCLUSIVE} ?Open(left); open := TRUE; !Ready
  END Opening;

  (* waiting: 0 nobody, 1 one waits for a partner, 2 the first has still to learn of the second *)
  IMPLEMENTATION Mall;
    VARIABLE colour: INTEGER;
    BEGIN
      WHILE ?Come DO {EXCLUSIVE}
        ?Come(colour);
        AWAIT(open AND (waiting < 2));
        IF left = 0 THEN !Closed
        ELSIF waiting = 0 THEN
          first := colour; waiting := 1;
          AWAIT((waiting = 2) OR (left = 0));
          IF waiting = 2 THEN waiting := 0; !Other(second) ELSE !Closed END
        ELSE
          second := colour; waiting := 2; DEC(left); !Other(first)
        END
      END
  END Mall;

  BEGIN waiting := 0; left := 0; open := FALSE
END Forest;

COMPONENT Creature OFFERS Meetings REQUIRES Mall;
  VARIABLE colour, other, times: INTEGER; inside: BOOLEAN;

  IMPLEMENTATION Meetings;
    BEGIN {EXCLUSIVE} ?Ask; AWAIT(~inside); !Met(times)
  END Meetings;

  BEGIN
    colour := RANDOM(0, 2); times := 0; inside := TRUE
  ACTIVITY {EXCLUSIVE}
    WHILE inside DO
      Mall!Come(colour);
      IF Mall?Other THEN
        Mall?Other(other); INC(times);
        IF other # colour THEN colour := 3 - colour - other END
      ELSE
        Mall?Closed; inside := FALSE
      END
    END
END Creature;

COMPONENT Chameneos REQUIRES Arguments;
  VARIABLE
    forest: Forest; creature[number: INTEGER]: Creature; creatures, pairs, i, n, sum: INTEGER;

  PROCEDURE Argument(number, usual: INTEGER): INTEGER;
    VARIABLE text: TEXT;
    BEGIN
      Arguments!Get(number); Arguments?Argument(text);
      IF text = "" THEN RETURN usual END;
      RETURN INTEGER(text)
  END Argument;

  BEGIN
    creatures := Argument(1, 10); pairs := Argument(2, 200);
    ASSERT(creatures >= 2);
    NEW(forest); Opening(forest)!Open(pairs); Opening(forest)?Ready;
    FOR i := 1 TO creatures DO NEW(creature[i]); CONNECT(Mall(creature[i]), Mall(forest)) END;
    sum := 0;
    FOR i := 1 TO creatures DO creature[i]!Ask; creature[i]?Met(n); sum := sum + n END;
    WRITE(sum); WRITE(" meetings"); WRITELINE;
    FOR i := 1 TO creatures DO DELETE(creature[i]) END
END Chameneos;
