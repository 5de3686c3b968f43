(* CONNECT 3: a required interface of a sub-component with the own implementation, offered or not. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Client REQUIRES I;
  VARIABLE n: INTEGER;
  BEGIN I!Ask; I?Is(n); WRITE(n); WRITELINE
END Client;
COMPONENT Main;
  VARIABLE c: Client; n: INTEGER;
  IMPLEMENTATION I;
    BEGIN {SHARED} ?Ask; !Is(n)
  END I;
  BEGIN n := 3; NEW(c); CONNECT(I(c), I); DELETE(c)
END Main;
