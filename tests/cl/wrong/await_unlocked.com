(* error[await] in line 3: AWAIT needs EXCLUSIVE *)
COMPONENT Main;
  ACTIVITY AWAIT(TRUE)
END Main;
