(* error[unlocked] in line 4: reading n needs SHARED or EXCLUSIVE *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  ACTIVITY WRITE(n)
END Main;
