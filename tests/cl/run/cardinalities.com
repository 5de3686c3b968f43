(* Interfaces that are offered and required several times, counted from 1. *)
INTERFACE Service; IN Ask OUT Is(n: INTEGER) END Service;
COMPONENT Desk OFFERS Service;
  VARIABLE served: INTEGER;
  IMPLEMENTATION Service;
    BEGIN {EXCLUSIVE} ?Ask; INC(served); !Is(served)
  END Service;
END Desk;
COMPONENT Customer REQUIRES Service[1..*];
  VARIABLE i, n, sum: INTEGER;
  BEGIN
    FOR i := 1 TO 3 DO Service[i]!Ask END;
    FOR i := 3 TO 1 BY -1 DO Service[i]?Is(n); sum := sum + n END;
    WRITE(sum); WRITE(" "); WRITE(COUNT(Service)); WRITELINE
END Customer;
COMPONENT Main;
  VARIABLE d[i: INTEGER]: Desk; c: Customer; i: INTEGER;
  BEGIN
    NEW(c);
    FOR i := 1 TO 3 DO NEW(d[i]); CONNECT(Service[i](c), Service(d[i])) END;
    DELETE(c)
END Main;
