(* A client is done in the middle of a communication: DELETE of the server does not wait for it. *)
INTERFACE Talk; IN Start { IN Word(n: INTEGER) OUT Heard } IN Stop END Talk;
COMPONENT Server OFFERS Talk;
  IMPLEMENTATION Talk;
    VARIABLE n: INTEGER;
  BEGIN
    ?Start;
    WHILE ?Word DO ?Word(n); WRITE(n); WRITELINE; !Heard END;
    WRITE("over"); WRITELINE
  END Talk;
END Server;
COMPONENT Client REQUIRES Talk;
BEGIN
ACTIVITY {EXCLUSIVE} Talk!Start; Talk!Word(5); Talk?Heard
END Client;
COMPONENT {ENTRYPOINT} Main;
  VARIABLE s: Server; c: Client;
BEGIN
  NEW(s); NEW(c); CONNECT(Talk(c), s);
  PASSIVATE(5);
  DELETE(s); WRITE("deleted"); WRITELINE;
  DELETE(c); WRITE("end"); WRITELINE
END Main;
