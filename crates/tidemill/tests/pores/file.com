(* A file written and read by two clients through io_uring; the second reads what the first wrote. *)
INTERFACE Work;
  IN Start(number: INTEGER) OUT Ready(text: TEXT)
END Work;

COMPONENT Client OFFERS Work REQUIRES File;
  PROCEDURE Joined(first, second: TEXT): TEXT;
    VARIABLE
      both: TEXT;
      i: INTEGER;
  BEGIN
    NEW(both, LENGTH(first) + LENGTH(second));
    FOR i := 0 TO LENGTH(first) - 1 DO
      both[i] := first[i]
    END;
    FOR i := 0 TO LENGTH(second) - 1 DO
      both[LENGTH(first) + i] := second[i]
    END;
    RETURN both
  END Joined;

  IMPLEMENTATION Work;
    VARIABLE
      number, i, n: INTEGER;
      data, text: TEXT;
  BEGIN {EXCLUSIVE}
    ?Start(number);
    text := "";
    File!Open("numbers");
    IF File?Opened THEN
      File?Opened;
      IF number = 0 THEN
        File!Read(0, 60);
        File?Got(data);
        text := data;
        File!Read(1000000, 60);
        File?Got(data);
        text := Joined(text, TEXT(LENGTH(data)))
      ELSE
        FOR i := 0 TO 9 DO
          NEW(data, 3);
          data[0] := CHARACTER(48 + number);
          data[1] := CHARACTER(48 + i);
          data[2] := ",";
          File!Write(number * 30 + i * 3 - 30, data);
          File?Written(n);
          IF n # 3 THEN
            text := "short"
          END
        END;
        File!Sync;
        File?Synced
      END;
      File!Close
    ELSE
      File?Failed(text)
    END;
    !Ready(text)
  END Work;
END Client;

COMPONENT Main REQUIRES Pore;
  VARIABLE
    driver: FileDriver;
    client[number: INTEGER]: Client;
    i: INTEGER;
    text: TEXT;
BEGIN
  NEW(driver);
  CONNECT(Pore(driver), Pore);
  FOR i := 0 TO 2 DO
    NEW(client[i]);
    CONNECT(File(client[i]), File(driver))
  END;
  FOR i := 1 TO 2 DO
    client[i]!Start(i)
  END;
  FOR i := 1 TO 2 DO
    client[i]?Ready(text);
    WRITE(text)
  END;
  client[0]!Start(0);
  client[0]?Ready(text);
  WRITE(text);
  WRITELINE
END Main;
