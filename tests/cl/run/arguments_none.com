(* Arguments: none given, and empty beyond. *)
COMPONENT Main REQUIRES Arguments;
  VARIABLE n: INTEGER; t: TEXT;
  BEGIN
    Arguments!GetCount; Arguments?Count(n); WRITE(n);
    Arguments!Get(1); Arguments?Argument(t); WRITE(LENGTH(t)); WRITE(t = ""); WRITELINE
END Main;
