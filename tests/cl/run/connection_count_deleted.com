(* Connections to what has been deleted do not count, and their places are free. *)
INTERFACE Service; IN Ask OUT Answer(n: INTEGER) END Service;
INTERFACE Control; { IN Show OUT Shown(n: INTEGER) | IN Call(i: INTEGER) OUT Got(n: INTEGER) } END Control;
COMPONENT Server OFFERS Service;
  VARIABLE number: INTEGER;
  IMPLEMENTATION Service;
  BEGIN {SHARED} ?Ask; !Answer(number)
  END Service;
BEGIN number := 7
END Server;
COMPONENT Client OFFERS Control REQUIRES Service[0..*];
  IMPLEMENTATION Control;
    VARIABLE i, n: INTEGER;
  BEGIN {EXCLUSIVE}
    WHILE ~?FINISH DO
      IF ?Show THEN
        ?Show; !Shown(COUNT(Service))
      ELSE
        ?Call(i); Service[i]!Ask; Service[i]?Answer(n); !Got(n)
      END
    END
  END Control;
END Client;
COMPONENT {ENTRYPOINT} Main;
  VARIABLE a, b, c: Server; x: Client; n: INTEGER;
  PROCEDURE Show;
    VARIABLE n: INTEGER;
  BEGIN x!Show; x?Shown(n); WRITE(n); WRITE(" "); WRITE(COUNT(Service(x))); WRITELINE
  END Show;
BEGIN
  NEW(a); NEW(b); NEW(c); NEW(x);
  CONNECT(Service[1](x), a); CONNECT(Service[2](x), b);
  Show;
  DELETE(a); Show;
  CONNECT(Service[1](x), c); Show;
  x!Call(1); x?Got(n); WRITE(n); WRITELINE;
  DELETE(b); DELETE(c); Show
END Main;
