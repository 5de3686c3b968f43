(* error[type] in line 3: a minus sign needs a number *)
COMPONENT Main;
  BEGIN WRITE(-TRUE)
END Main;
