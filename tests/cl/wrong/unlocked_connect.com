(* error[unlocked] in line 7: CONNECT needs EXCLUSIVE *)
COMPONENT Part REQUIRES SystemTime;
END Part;
COMPONENT Main REQUIRES SystemTime;
  VARIABLE p: Part;
  BEGIN NEW(p)
  ACTIVITY {SHARED} CONNECT(SystemTime(p), SystemTime)
END Main;
