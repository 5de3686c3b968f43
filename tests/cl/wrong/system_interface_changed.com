(* error[system-interface] in line 2: SystemTime is another interface of the system *)
INTERFACE SystemTime; IN Now OUT Then END SystemTime;
COMPONENT Main;
END Main;
