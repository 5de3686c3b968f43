(* error[type] in line 4: a TEXT cannot become an INTEGER *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := "abc"
END Main;
