(*
  Files through the kernel's own rings (io_uring): a driver as a component.

  Reads and writes of several clients are under way at once; one process takes what is completed
  and matches it by tag. The memory of the pore is divided into slots of SlotBytes each, so a read
  or write of more than that is done in part, and says so.
*)
INTERFACE File;
  IN Open(name: TEXT) ( OUT Failed(reason: TEXT) | OUT Opened { ( IN Read(place, length: INTEGER)
      OUT Got(data: TEXT) | IN Write(place: INTEGER; data: TEXT) OUT Written(n: INTEGER) | IN Sync
      OUT Synced ) } IN Close )
END File;

COMPONENT FileDriver OFFERS File REQUIRES Pore;
  CONSTANT
    Slots = 32;
    SlotBytes = 8192;
    RequestBytes = 32;
    CompletionBytes = 16;
    ToRead = 1;
    ToWrite = 2;
    ToSync = 3;
  VARIABLE
    isOpen, isBroken, isEvent: BOOLEAN;
    reason, request: TEXT;
    free[place: INTEGER]: INTEGER {ARRAY};
    freeCount: INTEGER;
    isDone[slot: INTEGER]: BOOLEAN {ARRAY};
    result[slot: INTEGER]: INTEGER {ARRAY};

  PROCEDURE Open(name: TEXT);
    VARIABLE size: INTEGER;
  BEGIN
    IF ~isOpen AND ~isBroken THEN
      Pore!Open("io_uring", name);
      IF Pore?Opened THEN
        Pore?Opened(size);
        isOpen := TRUE;
        Pore!Arm(CompletionBytes, 0)
      ELSE
        Pore?Failed(reason);
        isBroken := TRUE
      END
    END
  END Open;

  (* An event may come before the answer to what was asked, whenever one was armed for. *)
  PROCEDURE Heed;
    VARIABLE readable, writable: INTEGER;
  BEGIN
    IF Pore?Event THEN
      Pore?Event(readable, writable);
      isEvent := TRUE
    ELSIF Pore?Trouble THEN
      Pore?Trouble(reason);
      isBroken := TRUE
    END
  END Heed;

  PROCEDURE SetNumber(at, number: INTEGER);
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 0 TO 7 DO
      request[at + i] := CHARACTER(number MOD 256);
      number := number DIV 256
    END
  END SetNumber;

  PROCEDURE Submit(what, slot, place, length: INTEGER);
    VARIABLE accepted: INTEGER;
  BEGIN
    isDone[slot] := FALSE;
    result[slot] := -1;
    SetNumber(0, what + length * 4294967296);
    SetNumber(8, place);
    SetNumber(16, slot * SlotBytes);
    SetNumber(24, slot);
    Pore!Write(request);
    Heed;
    Pore?Accepted(accepted);
    ASSERT(accepted = RequestBytes); (* there are fewer slots than entries *)
    Pore!Ring
  END Submit;

  PROCEDURE Complete;
    VARIABLE
      at, slot, number, i: INTEGER;
      data: TEXT;
  BEGIN
    IF ~isEvent THEN
      Heed
    END;
    IF isEvent THEN
      isEvent := FALSE;
      Pore!Read(Slots * CompletionBytes);
      Heed;
      Pore?Data(data);
      at := 0;
      WHILE at < LENGTH(data) DO
        slot := INTEGER(data[at]);
        number := 0;
        FOR i := 3 TO 0 BY -1 DO
          number := number * 256 + INTEGER(data[at + 8 + i])
        END;
        IF number >= 2147483648 THEN
          number := number - 4294967296
        END;
        result[slot] := number;
        isDone[slot] := TRUE;
        at := at + CompletionBytes
      END;
      Pore!Arm(CompletionBytes, 0)
    END
  END Complete;

  IMPLEMENTATION File;
    VARIABLE
      name, data: TEXT;
      slot, place, length, kind: INTEGER;
      isGood: BOOLEAN;
  BEGIN
    ?Open(name);
    BEGIN {EXCLUSIVE}
      Open(name);
      isGood := ~isBroken;
      name := reason
    END;
    IF isGood THEN
      !Opened;
      WHILE ~?Close AND ~?FINISH DO
        IF ?Read THEN
          ?Read(place, length);
          kind := ToRead
        ELSIF ?Write THEN
          ?Write(place, data);
          kind := ToWrite;
          length := LENGTH(data)
        ELSE
          ?Sync;
          kind := ToSync;
          length := 0;
          place := 0
        END;
        IF length > SlotBytes THEN
          length := SlotBytes
        END;
        BEGIN {EXCLUSIVE}
          AWAIT(isBroken OR (freeCount > 0));
          IF isBroken THEN
            length := -5;
            data := ""
          ELSE
            DEC(freeCount);
            slot := free[freeCount];
            IF kind = ToWrite THEN
              Pore!Put(slot * SlotBytes, data)
            END;
            Submit(kind, slot, place, length);
            AWAIT(isDone[slot] OR isBroken);
            length := result[slot];
            IF (kind = ToRead) AND (length > 0) THEN
              Pore!Get(slot * SlotBytes, length);
              Heed;
              Pore?Data(data)
            ELSE
              data := ""
            END;
            free[freeCount] := slot;
            INC(freeCount)
          END
        END;
        IF kind = ToRead THEN
          !Got(data)
        ELSIF kind = ToWrite THEN
          !Written(length)
        ELSE
          !Synced
        END
      END;
      IF ?Close THEN
        ?Close
      END
    ELSE
      !Failed(name)
    END
  END File;

  VARIABLE i: INTEGER;
BEGIN
  isOpen := FALSE;
  isBroken := FALSE;
  isEvent := FALSE;
  reason := "";
  NEW(request, RequestBytes);
  NEW(free, Slots);
  NEW(isDone, Slots);
  NEW(result, Slots);
  FOR i := 0 TO Slots - 1 DO
    free[i] := i;
    isDone[i] := FALSE
  END;
  freeCount := Slots
ACTIVITY {EXCLUSIVE}
  AWAIT(isOpen OR TERMINATED());
  WHILE ~TERMINATED() AND ~isBroken DO
    AWAIT(isEvent OR INPUT(Pore, ANY) OR TERMINATED());
    IF isEvent OR INPUT(Pore, ANY) THEN
      Complete
    END
  END
END FileDriver;
