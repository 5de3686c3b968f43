INTERFACE Go; IN Now END Go;
COMPONENT Relay OFFERS Go REQUIRES Go;
  BEGIN
    CONNECT(Go, Go)
END Relay;
COMPONENT Main;
  VARIABLE a, b: Relay;
  BEGIN
    NEW(a); NEW(b);
    CONNECT(Go(a), Go(b)); CONNECT(Go(b), Go(a));
    a!Now
END Main;
