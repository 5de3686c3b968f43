(* Without {ENTRYPOINT} the last component of the file is the program. *)
COMPONENT First;
  BEGIN WRITE("first"); WRITELINE
END First;
COMPONENT Last;
  BEGIN WRITE("last"); WRITELINE
END Last;
