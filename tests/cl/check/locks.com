(* Who must hold the monitor, and who must not take it again. *)
INTERFACE I; IN Ask(n: INTEGER) OUT Is(n: INTEGER) END I;
COMPONENT Part OFFERS I REQUIRES I;
  IMPLEMENTATION I; VARIABLE n: INTEGER; BEGIN ?Ask(n); !Is(n) END I;
  ACTIVITY I!Ask(1)
END Part;
COMPONENT Main OFFERS I REQUIRES SystemTime;
  VARIABLE n: INTEGER; t: TEXT; p, q: Part; c[k: INTEGER]: INTEGER; a[k: INTEGER]: INTEGER {ARRAY};
  PROCEDURE Reads(): INTEGER; BEGIN RETURN n END Reads;
  PROCEDURE Writes; BEGIN n := 1 END Writes;
  PROCEDURE Through; BEGIN Writes END Through;
  PROCEDURE Takes; BEGIN {EXCLUSIVE} n := 2 END Takes;
  PROCEDURE TakesDeep; BEGIN Takes END TakesDeep;
  PROCEDURE Sets(VARIABLE x: INTEGER; y: INTEGER); BEGIN x := y END Sets;
  PROCEDURE Neither(k: INTEGER): INTEGER; VARIABLE l: INTEGER; BEGIN l := k; RETURN l END Neither;
  PROCEDURE Ping(k: INTEGER); BEGIN IF k > 0 THEN Pong(k - 1) END; n := k END Ping;
  PROCEDURE Pong(k: INTEGER); BEGIN IF k > 0 THEN Ping(k - 1) END END Pong;
  PROCEDURE Down(k: INTEGER); BEGIN {EXCLUSIVE} Down(k - 1) END Down;
  PROCEDURE Waits; BEGIN AWAIT(n = 0) END Waits;
  PROCEDURE Upgrade; BEGIN {SHARED} Writes END Upgrade;
  PROCEDURE Outer; VARIABLE l: INTEGER; PROCEDURE Nested; BEGIN INC(l); INC(n) END Nested; BEGIN Nested END Outer;
  PROCEDURE OwnPart; VARIABLE o: Part; BEGIN NEW(o); o!Ask(1); DELETE(o) END OwnPart;
  IMPLEMENTATION I;
    VARIABLE k: INTEGER;
    BEGIN
      ?Ask(k); !Is(n); !Is(Reads()); k := Neither(k); OwnPart; Sets(k, n); Sets(n, k); ?Ask(n);
      BEGIN {SHARED} !Is(n); k := Reads(); Writes; INC(n); c[1] := 2; k := c[1]; NEW(p); DELETE(p); MOVE(p, q); t[0] := "c"; ?Ask(n); Waits END;
      BEGIN {EXCLUSIVE} Writes; Through; Takes; TakesDeep; Down(1); BEGIN {SHARED} k := n END; IF {SHARED} n = 0 THEN END; Waits; Outer; Ping(1) END;
      Through; Takes; TakesDeep; Outer; Pong(2); Waits; AWAIT(TRUE);
      IF {SHARED} n = 0 THEN k := 1 END; WHILE {EXCLUSIVE} Reads() > 0 DO Takes END; IF {SHARED} ({EXCLUSIVE} Reads() = n) THEN END;
      FOR n := 1 TO 2 DO END; FOREACH k OF c DO END; FOREACH n OF c DO END; k := LENGTH(a); NEW(a, 2); DELETE(t);
      p!Ask(1); p?Is(k); IF p?ANY THEN END; IF EXISTS(p) OR FAILED(p) OR (p IS Part) THEN END; CONNECT(p, q); DISCONNECT(I(p));
      SystemTime!Wait(1); IF SystemTime?Passed THEN END; IF INPUT(SystemTime, Passed) THEN END; k := COUNT(SystemTime)
  END I;
  BEGIN n := 1; Writes; Takes; TakesDeep; Waits; BEGIN {SHARED} n := 2 END; SystemTime!Wait(1); SystemTime?Passed; CONNECT(p, q)
  ACTIVITY {SHARED} k := n; WRITE(n); PASSIVATE(1); AWAIT(n = 0); Writes; SystemTime!Wait(1)
  FINALLY n := 1; Takes; IF {EXCLUSIVE} n = 1 THEN END
END Main;
