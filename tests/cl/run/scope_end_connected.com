(* What ends together ends in the order in which it is needed: a component stays until none that is connected to it and ends too can call it, whatever was made first, through chains, from FINALLY and from sub-components. *)
INTERFACE Store; IN Put(x: INTEGER) OUT Done END Store;
INTERFACE Log; IN Say(x: TEXT) OUT Said END Log;

COMPONENT Book OFFERS Log;
  VARIABLE lines: INTEGER;
  IMPLEMENTATION Log;
    VARIABLE t: TEXT;
    BEGIN ?Say(t); BEGIN {EXCLUSIVE} INC(lines) END; !Said
  END Log;
  FINALLY WRITE("lines: "); WRITE(lines); WRITELINE
END Book;

COMPONENT Shelf OFFERS Store REQUIRES Log;
  VARIABLE sum: INTEGER;
  IMPLEMENTATION Store;
    VARIABLE x: INTEGER;
    BEGIN ?Put(x); BEGIN {EXCLUSIVE} INC(sum, x); Log!Say("put"); Log?Said END; !Done
  END Store;
  FINALLY Log!Say("end"); Log?Said; WRITE("sum: "); WRITE(sum); WRITELINE
END Shelf;

COMPONENT Client REQUIRES Store;
  COMPONENT Part REQUIRES Store;
    VARIABLE i: INTEGER;
    ACTIVITY {EXCLUSIVE} FOR i := 1 TO 10 DO Store!Put(100); Store?Done END
  END Part;
  VARIABLE i: INTEGER; part: Part;
  BEGIN NEW(part); CONNECT(Store(part), Store)
  ACTIVITY {EXCLUSIVE}
    FOR i := 1 TO 10 DO PASSIVATE(1); Store!Put(1); Store?Done END
  FINALLY Store!Put(10000); Store?Done
END Client;

COMPONENT Main;
  VARIABLE log: Book; shelf: Shelf; client, other: Client;
  PROCEDURE Twice;
    VARIABLE log: Book; shelf: Shelf; client: Client;
    BEGIN
      NEW(log); NEW(shelf); NEW(client); CONNECT(Log(shelf), log); CONNECT(Store(client), shelf)
  END Twice;
  BEGIN
    Twice;
    NEW(client); NEW(other); NEW(log); NEW(shelf);
    CONNECT(Log(shelf), log); CONNECT(Store(client), shelf); CONNECT(Store(other), shelf)
END Main;
