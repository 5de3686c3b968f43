(*
  Xenstore over a pore: the driver as a component.

  Server processes, one for each client, put requests into the ring while there is room, else into a
  queue, and wait for their answers. The first of them that waits receives for all, or, while none
  does, a process of the driver: it matches answers by number, delivers the events of watches, and
  sends what is queued. As many requests are under way as the ring has room for: each event has the
  number of bytes that will have been accepted in all, and sent bytes are counted. No process is
  ever busy waiting, and all requests fail with EIO if the store goes.

  Connect("xenstore", path) takes a page from the store that listens there; Connect("socket", path)
  connects to a daemon. All clients of one driver share the connection of the first.
*)
COMPONENT XenstoreDriver OFFERS Xenstore REQUIRES Pore;
  CONSTANT
    Slots = 128;
    Events = 256;
    HeaderBytes = 16;
    Enough = 128; (* the least room for which a message is begun *)
    ReadBytes = 65536;
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
    isRing: BOOLEAN; (* the room is known *)
    reason: TEXT;
    nul, head: TEXT;
    rest: TEXT; (* of a message that did not fit *)
    until, sent: INTEGER; (* bytes that would be accepted, and that were sent, in all *)
    armed: INTEGER; (* room that an event is armed for, less than 0 if none is *)
    isWatched: BOOLEAN; (* events may arrive that answer no request *)
    waiting: INTEGER; (* requests without an answer *)
    free[place: INTEGER]: INTEGER {ARRAY};
    freeCount: INTEGER;
    state[slot: INTEGER]: INTEGER {ARRAY};
    answer[slot: INTEGER]: TEXT {ARRAY};
    queue[place: INTEGER]: INTEGER {ARRAY}; (* slots of what is to be sent *)
    firstQueued, lastQueued: INTEGER;
    kind[slot: INTEGER]: INTEGER {ARRAY};
    transaction[slot: INTEGER]: INTEGER {ARRAY};
    first[slot: INTEGER]: TEXT {ARRAY};
    second[slot: INTEGER]: TEXT {ARRAY};
    leader: INTEGER; (* the slot of the receiving process, less than 0 if there is none *)
    came: TEXT; (* with the last event *)
    input: TEXT; (* the beginning of a message *)
    eventPath[place: INTEGER]: TEXT {ARRAY};
    eventToken[place: INTEGER]: TEXT {ARRAY};
    firstEvent, lastEvent: INTEGER;

  (* The bytes of a text from one place to before another, whatever they are. *)
  PROCEDURE Part(VARIABLE from: TEXT; start, end: INTEGER): TEXT;
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

  PROCEDURE Joined(VARIABLE first, second: TEXT): TEXT;
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

  (* The text and a NUL. *)
  PROCEDURE Ended(VARIABLE text: TEXT): TEXT;
    VARIABLE
      ended: TEXT;
      i: INTEGER;
  BEGIN
    NEW(ended, LENGTH(text) + 1);
    FOR i := 0 TO LENGTH(text) - 1 DO
      ended[i] := text[i]
    END;
    RETURN ended
  END Ended;

  PROCEDURE Number(VARIABLE from: TEXT; at: INTEGER): INTEGER;
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

  (* An event may arrive before the answer to a request, whenever one is armed. *)
  PROCEDURE Heed;
  BEGIN
    IF Pore?Came THEN
      Pore?Came(came, until);
      armed := -1;
      isEvent := TRUE
    ELSIF Pore?Trouble THEN
      Pore?Trouble(reason);
      isBroken := TRUE
    END
  END Heed;

  (* Messages to the pore wait behind an event that is not taken: before many, it is taken first. *)
  PROCEDURE Listen;
  BEGIN
    IF (armed >= 0) AND INPUT(Pore, ANY) THEN
      Heed
    END
  END Listen;

  (* Asks for the next event, unless one has come or the same was asked for. *)
  PROCEDURE Arm;
    VARIABLE wanted: INTEGER;
  BEGIN
    Listen;
    wanted := 0;
    IF LENGTH(rest) > 0 THEN
      wanted := 1
    ELSIF firstQueued < lastQueued THEN
      wanted := Enough
    END;
    IF ~isEvent AND (armed # wanted) THEN
      Pore!Next(ReadBytes, wanted);
      armed := wanted
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
          Pore?Available(size, until)
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
    INC(sent, accepted);
    rest := Part(rest, accepted, LENGTH(rest));
    Pore!Ring
  END SendRest;

  PROCEDURE SetHead(kind, slot, transaction, length: INTEGER);
  BEGIN
    head[0] := CHARACTER(kind);
    head[4] := CHARACTER(slot);
    SetNumber(8, transaction);
    head[12] := CHARACTER(length MOD 256);
    head[13] := CHARACTER(length DIV 256)
  END SetHead;

  (* Sends what is queued as far as there is room. Of what is longer than that as much goes as is
     accepted; what is left goes first when there is more room. *)
  PROCEDURE SendQueued;
    VARIABLE
      slot, length: INTEGER;
      start, end: TEXT;
  BEGIN
    WHILE (firstQueued < lastQueued) AND (LENGTH(rest) = 0) DO
      slot := queue[firstQueued MOD Slots];
      length := LENGTH(first[slot]) + 1 + LENGTH(second[slot]);
      IF isRing AND (HeaderBytes + length <= until - sent) THEN
        SetHead(kind[slot], slot, transaction[slot], length);
        Listen;
        Pore!Send(head, first[slot], nul, second[slot]);
        INC(sent, HeaderBytes + length)
      ELSIF ~isRing OR (until - sent >= Enough) THEN
        SetHead(kind[slot], slot, transaction[slot], length);
        start := Joined(head, first[slot]);
        end := Joined(nul, second[slot]);
        rest := Joined(start, end);
        SendRest
      ELSE
        RETURN
      END;
      INC(firstQueued)
    END
  END SendQueued;

  (* A message for which there is room goes out at once, and before it is asked for what comes: the
     store works on it meanwhile. *)
  PROCEDURE Post(type, slot, number: INTEGER; VARIABLE path, value: TEXT);
    VARIABLE length: INTEGER;
  BEGIN
    length := LENGTH(path) + 1 + LENGTH(value);
    IF isRing AND (HeaderBytes + length <= until - sent) AND (firstQueued = lastQueued)
        AND (LENGTH(rest) = 0) THEN
      SetHead(type, slot, number, length);
      Listen;
      IF isEvent OR (armed >= 0) THEN
        Pore!Send(head, path, nul, value)
      ELSE
        Pore!Ask(ReadBytes, head, path, nul, value);
        armed := 0
      END;
      INC(sent, HeaderBytes + length)
    ELSE
      kind[slot] := type;
      transaction[slot] := number;
      first[slot] := path;
      second[slot] := value;
      queue[lastQueued MOD Slots] := slot;
      INC(lastQueued);
      SendQueued;
      Arm
    END
  END Post;

  (* The event of a watch, in what came. *)
  PROCEDURE Note(start, end: INTEGER);
    VARIABLE middle: INTEGER;
  BEGIN
    middle := start;
    WHILE (middle < end - 1) AND (came[middle] # 0X) DO
      INC(middle)
    END;
    IF lastEvent - firstEvent = Events THEN
      INC(firstEvent)
    END;
    eventPath[lastEvent MOD Events] := Part(came, start, middle);
    eventToken[lastEvent MOD Events] := Part(came, middle + 1, end - 1);
    INC(lastEvent)
  END Note;

  (* One whole message, in what came. *)
  PROCEDURE Deliver(kind, slot, start, end: INTEGER);
  BEGIN
    IF kind = TypeWatchEvent THEN
      Note(start, end)
    ELSIF (slot < Slots) AND (state[slot] = Waiting) THEN
      DEC(waiting);
      IF kind = TypeError THEN
        answer[slot] := Part(came, start, end - 1);
        state[slot] := Bad
      ELSE
        IF kind = TypeRead THEN
          answer[slot] := Part(came, start, end)
        ELSIF kind <= TypeStart THEN
          answer[slot] := Swapped(Part(came, start, end - 1), 0X, " ")
        END;
        state[slot] := Good
      END
    ELSE
      reason := "an answer to nothing that was asked";
      isBroken := TRUE
    END
  END Deliver;

  (* All whole messages that have arrived. *)
  PROCEDURE Take;
    VARIABLE
      at, length: INTEGER;
      isWhole: BOOLEAN;
  BEGIN
    IF LENGTH(input) > 0 THEN
      came := Joined(input, came);
      input := ""
    END;
    at := 0;
    isWhole := TRUE;
    WHILE isWhole AND (at + HeaderBytes <= LENGTH(came)) DO
      length := Number(came, at + 12);
      IF length > 4096 THEN
        reason := "a message is too long";
        isBroken := TRUE;
        RETURN
      END;
      IF at + HeaderBytes + length <= LENGTH(came) THEN
        Deliver(Number(came, at), Number(came, at + 4), at + HeaderBytes, at + HeaderBytes
            + length);
        at := at + HeaderBytes + length
      ELSE
        isWhole := FALSE
      END
    END;
    IF at < LENGTH(came) THEN
      input := Part(came, at, LENGTH(came))
    END
  END Take;

  PROCEDURE Serve;
  BEGIN
    IF ~isEvent THEN
      Heed
    END;
    IF isEvent THEN
      isEvent := FALSE;
      Take;
      IF LENGTH(rest) > 0 THEN
        SendRest
      END;
      SendQueued;
      (* Else the next request arms for arrivals. *)
      IF isWatched OR (waiting > 0) THEN
        Arm
      END
    END
  END Serve;

  IMPLEMENTATION Xenstore;
    VARIABLE
      type, slot, number: INTEGER;
      path, value, event: TEXT;
      isGood, isNext: BOOLEAN;
  BEGIN
    ?Connect(path, value);
    BEGIN {EXCLUSIVE}
      Open(path, value);
      isGood := ~isBroken;
      path := reason
    END;
    IF isGood THEN
      !Connected;
      WHILE ~?Close AND ~?FINISH DO
        value := "";
        number := 0;
        isNext := FALSE;
        IF ?Write THEN
          ?Write(path, value, number);
          type := TypeWrite
        ELSIF ?Read THEN
          ?Read(path, number);
          type := TypeRead
        ELSIF ?MakeDirectory THEN
          ?MakeDirectory(path, number);
          type := TypeMakeDirectory
        ELSIF ?Remove THEN
          ?Remove(path, number);
          type := TypeRemove
        ELSIF ?Directory THEN
          ?Directory(path, number);
          type := TypeDirectory
        ELSIF ?GetPermissions THEN
          ?GetPermissions(path, number);
          type := TypeGetPermissions
        ELSIF ?SetPermissions THEN
          ?SetPermissions(path, value, number);
          type := TypeSetPermissions;
          value := Swapped(value, " ", 0X);
          value := Ended(value)
        ELSIF ?Watch THEN
          ?Watch(path, value);
          type := TypeWatch;
          value := Ended(value)
        ELSIF ?Unwatch THEN
          ?Unwatch(path, value);
          type := TypeUnwatch;
          value := Ended(value)
        ELSIF ?Start THEN
          ?Start;
          type := TypeStart;
          path := ""
        ELSIF ?Commit THEN
          ?Commit(number);
          type := TypeEnd;
          path := "T"
        ELSIF ?Abort THEN
          ?Abort(number);
          type := TypeEnd;
          path := "F"
        ELSE
          ?Next;
          isNext := TRUE
        END;
        IF isNext THEN
          BEGIN {EXCLUSIVE}
            isWatched := TRUE;
            Arm;
            AWAIT((firstEvent < lastEvent) OR isBroken);
            path := "";
            event := "";
            IF firstEvent < lastEvent THEN
              path := eventPath[firstEvent MOD Events];
              event := eventToken[firstEvent MOD Events];
              INC(firstEvent)
            END
          END;
          !Fired(path, event)
        ELSE
          BEGIN {EXCLUSIVE}
            AWAIT(isBroken OR (freeCount > 0));
            IF isBroken THEN
              path := "EIO";
              isGood := FALSE
            ELSIF LENGTH(path) + LENGTH(value) > 4095 THEN
              path := "E2BIG";
              isGood := FALSE
            ELSE
              DEC(freeCount);
              slot := free[freeCount];
              state[slot] := Waiting;
              INC(waiting);
              isWatched := isWatched OR (type = TypeWatch);
              Post(type, slot, number, path, value);
              IF leader < 0 THEN
                leader := slot
              END;
              WHILE (state[slot] = Waiting) AND ~isBroken DO
                AWAIT((state[slot] # Waiting) OR isBroken OR (leader = slot) AND (isEvent
                    OR INPUT(Pore, ANY)));
                IF (state[slot] = Waiting) AND ~isBroken THEN
                  Serve
                END
              END;
              IF leader = slot THEN
                leader := -1
              END;
              isGood := state[slot] = Good;
              IF state[slot] = Waiting THEN
                path := "EIO"
              ELSE
                path := answer[slot]
              END;
              answer[slot] := "";
              free[freeCount] := slot;
              INC(freeCount)
            END
          END;
          IF isGood THEN
            !Done(path)
          ELSE
            !Failed(path)
          END
        END
      END;
      IF ?Close THEN
        ?Close
      END
    ELSE
      !Refused(path)
    END
  END Xenstore;

  VARIABLE i: INTEGER;
BEGIN
  isOpen := FALSE;
  isRing := FALSE;
  isBroken := FALSE;
  isEvent := FALSE;
  isWatched := FALSE;
  waiting := 0;
  reason := "";
  rest := "";
  until := 0;
  sent := 0;
  armed := -1;
  came := "";
  input := "";
  NEW(nul, 1);
  NEW(head, HeaderBytes);
  NEW(free, Slots);
  NEW(state, Slots);
  NEW(answer, Slots);
  NEW(queue, Slots);
  NEW(kind, Slots);
  NEW(transaction, Slots);
  NEW(first, Slots);
  NEW(second, Slots);
  NEW(eventPath, Events);
  NEW(eventToken, Events);
  firstQueued := 0;
  lastQueued := 0;
  leader := -1;
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
    AWAIT(TERMINATED() OR (leader < 0) AND (isEvent OR INPUT(Pore, ANY)));
    IF isEvent OR INPUT(Pore, ANY) THEN
      Serve
    END
  END
END XenstoreDriver;
