(* options: --workers 1 *)
(* On one loop, as with several a sub-component may be done before its owner is deleted.
   A component that is deleted at once still serves its sub-components by its own implementations:
   they are not done. Its FINALLY comes first, and has the component to itself. *)
INTERFACE Two; IN Ask OUT Tell(n: INTEGER) END Two;

COMPONENT User REQUIRES Two;
  VARIABLE n, k: INTEGER;
ACTIVITY {EXCLUSIVE}
  FOR k := 1 TO 3 DO Two!Ask; Two?Tell(n) END;
  WRITE(n); WRITELINE
END User;

(* It has a sub-component of its own, whose calls lead through it. *)
COMPONENT Middle REQUIRES Two;
  VARIABLE inner: User;
BEGIN
  NEW(inner); CONNECT(Two(inner), Two)
END Middle;

COMPONENT Own;
  VARIABLE u: User; m: Middle; asked: INTEGER;
  IMPLEMENTATION Two;
  BEGIN
    ?Ask;
    BEGIN {EXCLUSIVE} INC(asked) END;
    !Tell(2)
  END Two;
BEGIN
  NEW(u); CONNECT(Two(u), Two);
  NEW(m); CONNECT(Two(m), Two)
FINALLY
  WRITE("finally"); WRITELINE;
  PASSIVATE(1)
END Own;

COMPONENT {ENTRYPOINT} Main;
  VARIABLE w: Own; k: INTEGER;
BEGIN
  NEW(w); DELETE(w);
  WRITE("deleted"); WRITELINE;
  FOR k := 1 TO 2 DO NEW(w); PASSIVATE(k); DELETE(w) END;
  WRITE("end"); WRITELINE
END Main;
