(* A system interface may be declared again, the same. *)
INTERFACE SystemTime;
  IN GetSystemTime OUT SystemTime(ticks: INTEGER) | IN Wait(ms: INTEGER) OUT Passed
END SystemTime;
COMPONENT Main REQUIRES SystemTime;
  VARIABLE t: INTEGER;
  BEGIN SystemTime!GetSystemTime; SystemTime?SystemTime(t); WRITE(t >= 0); WRITELINE
END Main;
