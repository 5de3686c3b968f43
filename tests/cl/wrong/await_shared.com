(* error[await] in line 4: AWAIT needs EXCLUSIVE *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  ACTIVITY {SHARED} AWAIT(n = 1)
END Main;
