(* error[type] in line 3: an INTEGER and a TEXT cannot be compared *)
COMPONENT Main;
  BEGIN WRITE(1 = "one")
END Main;
