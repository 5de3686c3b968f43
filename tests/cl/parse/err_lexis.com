COMPONENT A;
  CONSTANT a = 12ab; b = 0FF; c = 99999999999999999999; d = 100X; e = 1.x; f = 1.0E999; g = 1.5E;
    h = 9223372036854775808; i = 0FFFFFFFFFFFFFFFFH;
  BEGIN
    x := a & b; x := 'c'; x := $ä% 1;
    WRITE("open);
    WRITE("again
END A;
