(* error[type] in line 4: the condition of AWAIT is a BOOLEAN *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  ACTIVITY {EXCLUSIVE} AWAIT(n)
END Main;
