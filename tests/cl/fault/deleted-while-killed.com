(* BEGIN of Owner is killed while it waits for the end of a component: its FINALLY finds the
   variable empty. *)
COMPONENT Slow;
FINALLY
  PASSIVATE(20)
END Slow;
COMPONENT Owner;
  VARIABLE slow: Slow; slows[i: INTEGER]: Slow {ARRAY};
BEGIN
  NEW(slows, 2); NEW(slows[1]); NEW(slow); DELETE(slow)
FINALLY
  PASSIVATE(40);
  WRITE(EXISTS(slow)); WRITE(EXISTS(slows[1]));
  DELETE(slow); NEW(slow); DELETE(slow); DELETE(slows[1]);
  WRITE(EXISTS(slows[1])); WRITELINE
END Owner;
COMPONENT {ENTRYPOINT} Main;
  VARIABLE owner: Owner;
BEGIN
  NEW(owner)
ACTIVITY
  PASSIVATE(5); ASSERT(FALSE)
END Main;
