(*
  Copies a file: `copy.com -- FROM TO`. Without arguments it writes a file of its own and copies
  that.

  A component has one communication through a required interface, so the file that is read and the
  file that is written belong to two components.
*)
INTERFACE Content;
  IN Open(name: TEXT)
  ( OUT Failed | OUT Opened(length: INTEGER) { OUT Byte(x: CHARACTER) } OUT End )
END Content;

COMPONENT Reader OFFERS Content REQUIRES FileSystem;
  IMPLEMENTATION Content;
    VARIABLE name: TEXT; length, i: INTEGER; x: CHARACTER;
    BEGIN {EXCLUSIVE}
      ?Open(name);
      FileSystem!Open(name);
      IF FileSystem?Done THEN
        FileSystem?Done;
        FileSystem!GetLength; FileSystem?Length(length);
        !Opened(length);
        FOR i := 1 TO length DO
          FileSystem!ReadByte; FileSystem?Byte(x);
          !Byte(x)
        END;
        FileSystem!Close; !End
      ELSE
        FileSystem?Failed; !Failed
      END
  END Content;
END Reader;

COMPONENT Copy REQUIRES FileSystem, Arguments;
  VARIABLE reader: Reader; count: INTEGER; from, to: TEXT;

  PROCEDURE Create(name: TEXT): BOOLEAN;
    BEGIN
      FileSystem!New(name);
      IF FileSystem?Done THEN FileSystem?Done; RETURN TRUE END;
      FileSystem?Failed;
      WRITE(name); WRITE(" cannot be written"); WRITELINE;
      RETURN FALSE
  END Create;

  PROCEDURE WriteSample;
    VARIABLE i: INTEGER;
    BEGIN
      from := "sample.txt"; to := "sample-copy.txt";
      IF Create(from) THEN
        FOR i := 1 TO 100 DO
          FileSystem!WriteText("line "); FileSystem!WriteText(TEXT(i)); FileSystem!Write(0AX)
        END;
        FileSystem!Close
      END
  END WriteSample;

  PROCEDURE CopyFile;
    VARIABLE length: INTEGER; x: CHARACTER;
    BEGIN
      reader!Open(from);
      IF reader?Failed THEN
        reader?Failed;
        WRITE(from); WRITE(" cannot be read"); WRITELINE
      ELSE
        reader?Opened(length);
        IF Create(to) THEN
          count := 0;
          WHILE reader?Byte DO reader?Byte(x); FileSystem!Write(x); INC(count) END;
          reader?End;
          FileSystem!Close;
          ASSERT(count = length);
          WRITE(count); WRITE(" bytes copied from "); WRITE(from);
          WRITE(" to "); WRITE(to); WRITELINE
        END
      END
  END CopyFile;

  BEGIN
    NEW(reader); CONNECT(FileSystem(reader), FileSystem);
    Arguments!Get(1); Arguments?Argument(from);
    Arguments!Get(2); Arguments?Argument(to);
    IF to = "" THEN WriteSample END;
    CopyFile
END Copy;
