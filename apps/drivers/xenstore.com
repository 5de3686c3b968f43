(*
  Xenstore over a pore: the driver as a component.

  Server processes, one for each client, put requests into the ring while there is room and wait
  for their answers; one process takes what comes back, matches it by number, and delivers the
  events of watches. As many requests are under way as the ring has room for: how much that is at
  least, is known from the last event and what was sent since. Nobody is ever busy waiting, and
  everybody fails with EIO if the store goes.

  Connect("xenstore", path) takes a page from who listens there; Connect("socket", path) speaks to
  a daemon. All clients of one driver share what the first has connected to.
*)
COMPONENT XenstoreDriver OFFERS Xenstore REQUIRES Pore;
  CONSTANT
    Slots = 128;
    Events = 256;
    HeaderBytes = 16;
    Enough = 256; (* room for which it is worth while to begin *)
    Waiting = 1;
    Good = 2;
    Bad = 3;
    TypeDirectory = 1;
    TypeRead = 2;
    TypeGetPermissions = 3;
    TypeWatch = 4;
    TypeUnwatch = 5;
    TypeStart = 6;
    TypeEnd = 7;
    TypeWrite = 11;
    TypeMakeDirectory = 12;
    TypeRemove = 13;
    TypeSetPermissions = 14;
    TypeWatchEvent = 15;
    TypeError = 16;
  VARIABLE
    isOpen, isBroken, isEvent: BOOLEAN;
    isRing: BOOLEAN; (* what room there is, is known *)
    reason: TEXT;
    nul, head: TEXT;
    rest: TEXT; (* of a message that did not fit *)
    room: INTEGER; (* at least so many bytes would be accepted *)
    seen, sent: INTEGER; (* room that an event told of, and what was sent since before that *)
    free[place: INTEGER]: INTEGER {ARRAY};
    freeCount: INTEGER;
    state[slot: INTEGER]: INTEGER {ARRAY};
    answer[slot: INTEGER]: TEXT {ARRAY};
    input: TEXT; (* the beginning of a message *)
    path[place: INTEGER]: TEXT {ARRAY};
    token[place: INTEGER]: TEXT {ARRAY};
    firstEvent, lastEvent: INTEGER;

  (* The bytes of a text from one place to before another, whatever they are. *)
  PROCEDURE Part(from: TEXT; start, end: INTEGER): TEXT;
    VARIABLE
      part: TEXT;
      i: INTEGER;
  BEGIN
    NEW(part, end - start);
    FOR i := start TO end - 1 DO
      part[i - start] := from[i]
    END;
    RETURN part
  END Part;

  PROCEDURE Swapped(list: TEXT; old, new: CHARACTER): TEXT;
    VARIABLE i: INTEGER;
  BEGIN
    FOR i := 0 TO LENGTH(list) - 1 DO
      IF list[i] = old THEN
        list[i] := new
      END
    END;
    RETURN list
  END Swapped;

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

  PROCEDURE Number(from: TEXT; at: INTEGER): INTEGER;
  BEGIN
    RETURN INTEGER(from[at]) + 256 * INTEGER(from[at + 1]) + 65536 * INTEGER(from[at + 2])
        + 16777216 * INTEGER(from[at + 3])
  END Number;

  PROCEDURE SetNumber(at, number: INTEGER);
  BEGIN
    head[at] := CHARACTER(number MOD 256);
    head[at + 1] := CHARACTER(number DIV 256 MOD 256);
    head[at + 2] := CHARACTER(number DIV 65536 MOD 256);
    head[at + 3] := CHARACTER(number DIV 16777216 MOD 256)
  END SetNumber;

  (* An event may come before the answer to what was asked, whenever one was armed for. *)
  PROCEDURE Heed;
    VARIABLE readable: INTEGER;
  BEGIN
    IF Pore?Event THEN
      Pore?Event(readable, seen);
      isEvent := TRUE
    ELSIF Pore?Trouble THEN
      Pore?Trouble(reason);
      isBroken := TRUE
    END
  END Heed;

  (* Messages to the pore wait behind an event that nobody takes: whoever has many takes it first. *)
  PROCEDURE Listen;
  BEGIN
    IF INPUT(Pore, ANY) THEN
      Heed
    END
  END Listen;

  PROCEDURE Arm;
  BEGIN
    Listen;
    IF LENGTH(rest) > 0 THEN
      Pore!Arm(1, 1)
    ELSIF isRing AND (room < Enough) THEN
      Pore!Arm(1, Enough)
    ELSE
      Pore!Arm(1, 0)
    END
  END Arm;

  PROCEDURE Open(kind, address: TEXT);
    VARIABLE size: INTEGER;
  BEGIN
    IF ~isOpen AND ~isBroken THEN
      Pore!Open(kind, address);
      IF Pore?Opened THEN
        Pore?Opened(size);
        isOpen := TRUE;
        isRing := kind = "xenstore";
        IF isRing THEN
          Pore!Avail;
          Pore?Available(size, room)
        END;
        Arm
      ELSE
        Pore?Failed(reason);
        isBroken := TRUE
      END
    END
  END Open;

  PROCEDURE SendRest;
    VARIABLE accepted: INTEGER;
  BEGIN
    Listen;
    Pore!Write(rest);
    Heed;
    Pore?Accepted(accepted);
    rest := Part(rest, accepted, LENGTH(rest));
    room := 0
  END SendRest;

  (* A message for which there is room goes out at once. Of another as much goes as is accepted;
     what is left goes first when there is more room. *)
  PROCEDURE Send(kind, slot, transaction: INTEGER; first, second: TEXT);
    VARIABLE length: INTEGER;
  BEGIN
    length := LENGTH(first) + 1 + LENGTH(second);
    head[0] := CHARACTER(kind);
    head[4] := CHARACTER(slot);
    SetNumber(8, transaction);
    head[12] := CHARACTER(length MOD 256);
    head[13] := CHARACTER(length DIV 256 MOD 256);
    IF HeaderBytes + length <= room THEN
      DEC(room, HeaderBytes + length);
      INC(sent, HeaderBytes + length);
      Listen;
      Pore!Send(head, first, nul, second);
      IF room < Enough THEN
        Arm
      END
    ELSE
      rest := Joined(Joined(head, first), Joined(nul, second));
      SendRest;
      Pore!Ring;
      Arm
    END
  END Send;

  PROCEDURE Note(data: TEXT; start, end: INTEGER);
    VARIABLE middle: INTEGER;
  BEGIN
    middle := start;
    WHILE (middle < end - 1) AND (data[middle] # 0X) DO
      INC(middle)
    END;
    IF lastEvent - firstEvent = Events THEN
      INC(firstEvent)
    END;
    path[lastEvent MOD Events] := Part(data, start, middle);
    token[lastEvent MOD Events] := Part(data, middle + 1, end - 1);
    INC(lastEvent)
  END Note;

  (* One whole message. *)
  PROCEDURE Deliver(data: TEXT; kind, slot, start, end: INTEGER);
  BEGIN
    IF kind = TypeWatchEvent THEN
      Note(data, start, end)
    ELSIF (slot < Slots) AND (state[slot] = Waiting) THEN
      IF kind = TypeError THEN
        answer[slot] := Part(data, start, end - 1);
        state[slot] := Bad
      ELSE
        IF (kind = TypeRead) THEN
          answer[slot] := Part(data, start, end)
        ELSIF kind <= TypeStart THEN
          answer[slot] := Swapped(Part(data, start, end - 1), 0X, " ")
        END;
        state[slot] := Good
      END
    ELSE
      reason := "an answer to nothing that was asked";
      isBroken := TRUE
    END
  END Deliver;

  (* All whole messages of what has come. *)
  PROCEDURE Take(data: TEXT);
    VARIABLE
      at, length: INTEGER;
      isWhole: BOOLEAN;
  BEGIN
    IF LENGTH(input) > 0 THEN
      data := Joined(input, data);
      input := ""
    END;
    at := 0;
    isWhole := TRUE;
    WHILE isWhole AND (at + HeaderBytes <= LENGTH(data)) DO
      length := Number(data, at + 12);
      IF length > 4096 THEN
        reason := "a message is too long";
        isBroken := TRUE;
        RETURN
      END;
      IF at + HeaderBytes + length <= LENGTH(data) THEN
        Deliver(data, INTEGER(data[at]), Number(data, at + 4), at + HeaderBytes, at + HeaderBytes
            + length);
        at := at + HeaderBytes + length
      ELSE
        isWhole := FALSE
      END
    END;
    IF at < LENGTH(data) THEN
      input := Part(data, at, LENGTH(data))
    END
  END Take;

  IMPLEMENTATION Xenstore;
    VARIABLE
      kind, slot, transaction: INTEGER;
      first, second, event: TEXT;
      isGood, isNext: BOOLEAN;
  BEGIN
    ?Connect(first, second);
    BEGIN {EXCLUSIVE}
      Open(first, second);
      isGood := ~isBroken;
      first := reason
    END;
    IF isGood THEN
      !Connected;
      WHILE ~?Close AND ~?FINISH DO
        second := "";
        transaction := 0;
        isNext := FALSE;
        IF ?Write THEN
          ?Write(first, second, transaction);
          kind := TypeWrite
        ELSIF ?Read THEN
          ?Read(first, transaction);
          kind := TypeRead
        ELSIF ?MakeDirectory THEN
          ?MakeDirectory(first, transaction);
          kind := TypeMakeDirectory
        ELSIF ?Remove THEN
          ?Remove(first, transaction);
          kind := TypeRemove
        ELSIF ?Directory THEN
          ?Directory(first, transaction);
          kind := TypeDirectory
        ELSIF ?GetPermissions THEN
          ?GetPermissions(first, transaction);
          kind := TypeGetPermissions
        ELSIF ?SetPermissions THEN
          ?SetPermissions(first, second, transaction);
          kind := TypeSetPermissions;
          second := Joined(Swapped(second, " ", 0X), Swapped(" ", " ", 0X))
        ELSIF ?Watch THEN
          ?Watch(first, second);
          kind := TypeWatch;
          second := Joined(second, Swapped(" ", " ", 0X))
        ELSIF ?Unwatch THEN
          ?Unwatch(first, second);
          kind := TypeUnwatch;
          second := Joined(second, Swapped(" ", " ", 0X))
        ELSIF ?Start THEN
          ?Start;
          kind := TypeStart;
          first := ""
        ELSIF ?Commit THEN
          ?Commit(transaction);
          kind := TypeEnd;
          first := "T"
        ELSIF ?Abort THEN
          ?Abort(transaction);
          kind := TypeEnd;
          first := "F"
        ELSE
          ?Next;
          isNext := TRUE
        END;
        IF isNext THEN
          BEGIN {EXCLUSIVE}
            AWAIT((firstEvent < lastEvent) OR isBroken);
            first := "";
            event := "";
            IF firstEvent < lastEvent THEN
              first := path[firstEvent MOD Events];
              event := token[firstEvent MOD Events];
              INC(firstEvent)
            END
          END;
          !Fired(first, event)
        ELSE
          BEGIN {EXCLUSIVE}
            AWAIT(isBroken OR (freeCount > 0) AND (LENGTH(rest) = 0) AND ((room >= Enough)
                OR ~isRing));
            IF isBroken THEN
              first := "EIO";
              isGood := FALSE
            ELSIF LENGTH(first) + LENGTH(second) > 4095 THEN
              first := "E2BIG";
              isGood := FALSE
            ELSE
              DEC(freeCount);
              slot := free[freeCount];
              state[slot] := Waiting;
              Send(kind, slot, transaction, first, second);
              AWAIT((state[slot] # Waiting) OR isBroken);
              isGood := state[slot] = Good;
              IF state[slot] = Waiting THEN
                first := "EIO"
              ELSE
                first := answer[slot]
              END;
              answer[slot] := "";
              free[freeCount] := slot;
              INC(freeCount)
            END
          END;
          IF isGood THEN
            !Done(first)
          ELSE
            !Failed(first)
          END
        END
      END;
      IF ?Close THEN
        ?Close
      END
    ELSE
      !Refused(first)
    END
  END Xenstore;

  (* Nothing that was sent is under way to the pore now: what is sent from here on is counted. *)
  PROCEDURE Learn;
    VARIABLE readable: INTEGER;
  BEGIN
    IF isRing THEN
      room := seen - sent;
      sent := 0;
      IF room < Enough THEN
        Pore!Avail;
        Heed;
        Pore?Available(readable, room)
      END
    END
  END Learn;

  PROCEDURE Serve;
    VARIABLE data: TEXT;
  BEGIN
    IF ~isEvent THEN
      Heed
    END;
    IF isEvent THEN
      isEvent := FALSE;
      Pore!Read(65536);
      Heed;
      Pore?Data(data);
      Learn;
      Take(data);
      IF LENGTH(rest) > 0 THEN
        SendRest
      END;
      Pore!Ring;
      Arm
    END
  END Serve;

  VARIABLE i: INTEGER;
BEGIN
  isOpen := FALSE;
  isRing := FALSE;
  isBroken := FALSE;
  isEvent := FALSE;
  reason := "";
  rest := "";
  room := 0;
  seen := 0;
  sent := 0;
  input := "";
  NEW(nul, 1);
  NEW(head, HeaderBytes);
  NEW(free, Slots);
  NEW(state, Slots);
  NEW(answer, Slots);
  NEW(path, Events);
  NEW(token, Events);
  firstEvent := 0;
  lastEvent := 0;
  FOR i := 0 TO Slots - 1 DO
    free[i] := i;
    state[i] := 0
  END;
  freeCount := Slots
ACTIVITY {EXCLUSIVE}
  AWAIT(isOpen OR TERMINATED());
  WHILE ~TERMINATED() AND ~isBroken DO
    AWAIT(isEvent OR INPUT(Pore, ANY) OR TERMINATED());
    IF isEvent OR INPUT(Pore, ANY) THEN
      Serve
    END
  END
END XenstoreDriver;
