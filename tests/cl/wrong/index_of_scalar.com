(* error[index] in line 4: an INTEGER has no elements *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := 1; i[0] := 2
END Main;
