(* The component marked {ENTRYPOINT} is the program, wherever it stands. *)
COMPONENT {ENTRYPOINT} Chosen;
  BEGIN WRITE("chosen"); WRITELINE
END Chosen;
COMPONENT Last;
  BEGIN WRITE("never"); WRITELINE
END Last;
