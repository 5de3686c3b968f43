(* A server that is done without a message shows as FINISH, for which ANY holds too; a message that begins a communication opens a new one then. *)
INTERFACE Items; { OUT Item(x: INTEGER) | IN Stop } END Items;

COMPONENT Box OFFERS Items;
  VARIABLE calls: INTEGER;
  IMPLEMENTATION Items;
    BEGIN
      BEGIN {EXCLUSIVE} INC(calls) END;
      IF {SHARED} calls = 3 THEN
        !Item(7)
      ELSIF {SHARED} calls = 2 THEN
        ?Stop
      END
  END Items;
END Box;

COMPONENT Main;
  VARIABLE box, other: Box;
  BEGIN
    NEW(box);
    WRITE(box?Item); WRITE(" "); WRITE(box?FINISH); WRITE(" "); WRITE(box?ANY); WRITE(" "); WRITE(INPUT(box, ANY)); WRITELINE;
    box!Stop;
    WRITE(box?Item); WRITELINE;
    NEW(other);
    WRITE(other?ANY); WRITE(other?FINISH); WRITELINE
END Main;
