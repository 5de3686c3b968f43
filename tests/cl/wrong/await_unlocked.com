(* error[await] in line 3: AWAIT needs SHARED or EXCLUSIVE *)
COMPONENT Main;
  ACTIVITY AWAIT(TRUE)
END Main;
