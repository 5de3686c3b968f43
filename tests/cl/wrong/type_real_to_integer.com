(* error[type] in line 4: a REAL does not become an INTEGER by itself; INTEGER(...) rounds down *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN i := 1.5
END Main;
