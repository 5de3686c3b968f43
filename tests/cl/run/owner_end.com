(* Deleting a component runs its FINALLY first and then those of what it contains. *)
COMPONENT Inner;
  FINALLY WRITE("inner ")
END Inner;
COMPONENT Outer;
  VARIABLE i: Inner;
  BEGIN NEW(i)
  FINALLY WRITE("outer ")
END Outer;
COMPONENT Main;
  VARIABLE o: Outer;
  BEGIN NEW(o); DELETE(o); WRITE("main"); WRITELINE
  FINALLY WRITE("finally"); WRITELINE
END Main;
