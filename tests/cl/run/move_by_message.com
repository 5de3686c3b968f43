(* A component sent in a message belongs to the receiver. *)
INTERFACE Read; IN Open OUT Title(t: TEXT) | IN Write(t: TEXT) OUT Written END Read;
INTERFACE Shelf; IN Bring(b: Book) OUT Thanks | IN Fetch OUT Here(b: Book) END Shelf;
COMPONENT Book OFFERS Read;
  VARIABLE title: TEXT;
  IMPLEMENTATION Read;
    BEGIN {EXCLUSIVE} IF ?Open THEN ?Open; !Title(title) ELSE ?Write(title); !Written END
  END Read;
END Book;
COMPONENT Library OFFERS Shelf;
  VARIABLE book: Book;
  IMPLEMENTATION Shelf;
    BEGIN {EXCLUSIVE} IF ?Bring THEN ?Bring(book); !Thanks ELSE ?Fetch; !Here(book) END
  END Shelf;
END Library;
COMPONENT Main;
  VARIABLE l: Library; b: Book; t: TEXT;
  BEGIN
    NEW(l); NEW(b); b!Write("tides"); b?Written;
    l!Bring(b); l?Thanks; WRITE(EXISTS(b));
    l!Fetch; l?Here(b); WRITE(EXISTS(b)); b!Open; b?Title(t); WRITE(t); WRITELINE
END Main;
