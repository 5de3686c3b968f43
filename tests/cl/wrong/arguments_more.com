(* error[argument-count] in line 3: WRITE takes 1 argument, here are 2 *)
COMPONENT Main;
  BEGIN WRITE(1, 2)
END Main;
