(*
  A news desk: one editor writes under EXCLUSIVE, many readers read at the same time under SHARED.
  A reader sees headline and body of the same edition, never a mixture.
*)
INTERFACE Publish;
  IN Print(headline, body: INTEGER) OUT Printed
END Publish;

INTERFACE News;
  { IN Read OUT Page(headline, body: INTEGER) }
END News;

COMPONENT Desk OFFERS Publish, News;
  VARIABLE headline, body, editions: INTEGER;

  IMPLEMENTATION Publish;
    BEGIN {EXCLUSIVE} ?Print(headline, body); INC(editions); !Printed
  END Publish;

  IMPLEMENTATION News;
    BEGIN
      WHILE ?Read DO {SHARED} ?Read; !Page(headline, body) END
  END News;

  BEGIN headline := 0; body := 0; editions := 0
  FINALLY WRITE(editions); WRITE(" editions"); WRITELINE
END Desk;

COMPONENT Reader REQUIRES News;
  CONSTANT Pages = 50;
  VARIABLE i, headline, body, before: INTEGER;
  BEGIN
    before := 0;
    FOR i := 1 TO Pages DO
      News!Read; News?Page(headline, body);
      ASSERT(headline = body); ASSERT(headline >= before); before := headline
    END
END Reader;

COMPONENT Editor REQUIRES Publish;
  CONSTANT Editions = 20;
  VARIABLE i: INTEGER;
  BEGIN
    FOR i := 1 TO Editions DO Publish!Print(i, i); Publish?Printed END
END Editor;

COMPONENT Newspaper;
  CONSTANT Readers = 10;
  VARIABLE desk: Desk; editor: Editor; reader[number: INTEGER]: Reader; i: INTEGER;
  BEGIN
    NEW(desk);
    FOR i := 1 TO Readers DO NEW(reader[i]); CONNECT(News(reader[i]), News(desk)) END;
    NEW(editor); CONNECT(Publish(editor), Publish(desk));
    DELETE(editor);
    FOR i := 1 TO Readers DO DELETE(reader[i]) END;
    WRITE(Readers); WRITE(" readers have read whole pages"); WRITELINE
END Newspaper;
