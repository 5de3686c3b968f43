(* error[type] in line 4: IS tests components *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := 1; WRITE(i IS Main)
END Main;
