(* error[equal-for-assign] in line 4: = compares, := assigns *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i = 1
END Main;
