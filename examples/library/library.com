(*
  Books are components that are lent: sent in a message, a book belongs to whoever receives it, and
  the shelf is empty until it comes back.
*)
INTERFACE Pages;
  IN Print(title: TEXT) OUT Printed
  | IN Read OUT Content(title: TEXT; readers: INTEGER)
END Pages;

INTERFACE Lending;
  IN Donate(gift: Book) OUT Shelved
  | IN Borrow(number: INTEGER) OUT Lend(book: Book) IN Return(back: Book) OUT Thanks
END Lending;

COMPONENT Book OFFERS Pages;
  VARIABLE title: TEXT; readers: INTEGER;
  IMPLEMENTATION Pages;
    BEGIN {EXCLUSIVE}
      IF ?Print THEN ?Print(title); !Printed
      ELSE ?Read; INC(readers); !Content(title, readers)
      END
  END Pages;
  BEGIN readers := 0
END Book;

COMPONENT Library OFFERS Lending;
  VARIABLE shelf[number: INTEGER]: Book; books: INTEGER;

  IMPLEMENTATION Lending;
    VARIABLE number: INTEGER;
    BEGIN {EXCLUSIVE}
      IF ?Donate THEN
        INC(books); ?Donate(shelf[books]); !Shelved
      ELSE
        ?Borrow(number);
        AWAIT(EXISTS(shelf[number]));
        !Lend(shelf[number]);
        AWAIT(INPUT(Return));
        ?Return(shelf[number]); !Thanks
      END
  END Lending;

  BEGIN books := 0
END Library;

COMPONENT Reader REQUIRES Lending;
  CONSTANT Books = 3;
  VARIABLE book: Book; title: TEXT; i, readers: INTEGER;
  BEGIN
    FOR i := 1 TO Books DO
      Lending!Borrow(i); Lending?Lend(book);
      book!Read; book?Content(title, readers);
      Lending!Return(book); Lending?Thanks
    END
END Reader;

COMPONENT Town;
  CONSTANT Readers = 5;
  VARIABLE
    library: Library; reader[number: INTEGER]: Reader; book: Book; i, n: INTEGER; title: TEXT;

  PROCEDURE Donate(title: TEXT);
    BEGIN
      NEW(book); book!Print(title); book?Printed;
      library!Donate(book); library?Shelved
  END Donate;

  BEGIN
    NEW(library);
    Donate("Tides"); Donate("Mills"); Donate("Millions of processes");
    FOR i := 1 TO Readers DO NEW(reader[i]); CONNECT(Lending(reader[i]), Lending(library)) END;
    FOR i := 1 TO Readers DO DELETE(reader[i]) END;
    FOR i := 1 TO 3 DO
      library!Borrow(i); library?Lend(book);
      book!Read; book?Content(title, n);
      WRITE(title); WRITE(" was read by "); WRITE(n - 1); WRITELINE;
      library!Return(book); library?Thanks
    END
END Town;
