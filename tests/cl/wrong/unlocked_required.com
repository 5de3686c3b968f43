(* error[unlocked] in line 3: using a required interface needs EXCLUSIVE *)
COMPONENT Main REQUIRES SystemTime;
  ACTIVITY {SHARED} SystemTime!Wait(1)
END Main;
