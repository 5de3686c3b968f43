(* [n] is exactly n, [1..n] up to n: COUNT tells how many are connected. *)
INTERFACE S; IN Ask OUT Is END S;
INTERFACE Report; IN Go OUT Done END Report;
COMPONENT Server OFFERS S;
  IMPLEMENTATION S;
    BEGIN ?Ask; !Is
  END S;
END Server;
COMPONENT Client OFFERS Report REQUIRES S[1..4];
  IMPLEMENTATION Report;
    BEGIN {EXCLUSIVE} ?Go; WRITE(COUNT(S)); WRITE(" "); !Done
  END Report;
END Client;
COMPONENT Main;
  VARIABLE s: Server; c: Client; i: INTEGER;
  BEGIN
    NEW(s); NEW(c);
    c!Go; c?Done;
    FOR i := 1 TO 4 DO CONNECT(S[i](c), S(s)); c!Go; c?Done END;
    DISCONNECT(S[2](c)); c!Go; c?Done; WRITELINE
END Main;
