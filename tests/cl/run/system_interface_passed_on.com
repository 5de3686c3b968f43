(* The entry component passes a system interface on to its parts. *)
COMPONENT Sleeper REQUIRES SystemTime;
  BEGIN SystemTime!Wait(1); SystemTime?Passed; WRITE("slept"); WRITELINE
END Sleeper;
COMPONENT Main REQUIRES SystemTime;
  VARIABLE s: Sleeper;
  BEGIN NEW(s); CONNECT(SystemTime(s), SystemTime)
END Main;
