(* NEW deletes what was in the variable first. *)
INTERFACE Number; IN Get OUT Is(n: INTEGER) END Number;
COMPONENT Holder OFFERS Number REQUIRES Number;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Number;
    BEGIN {SHARED} ?Get; !Is(n)
  END Number;
  BEGIN Number!Get; Number?Is(n)
  FINALLY WRITE("gone "); WRITE(n); WRITELINE
END Holder;
COMPONENT Counter OFFERS Number;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Number;
    BEGIN {EXCLUSIVE} ?Get; INC(n); !Is(n)
  END Number;
END Counter;
COMPONENT Main;
  VARIABLE c: Counter; h: Holder; i, n: INTEGER;
  BEGIN
    NEW(c);
    FOR i := 1 TO 3 DO
      NEW(h); CONNECT(Number(h), Number(c));
      h!Get; h?Is(n); WRITE(n); WRITELINE
    END
END Main;
