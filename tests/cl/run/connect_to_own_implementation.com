(* CONNECT 3: a required interface of a sub-component with the own implementation, offered or not. *)
INTERFACE I; IN Ask OUT Is(n: INTEGER) END I;
COMPONENT Client REQUIRES I;
  VARIABLE n: INTEGER;
  BEGIN I!Ask; I?Is(n); WRITE(n); WRITELINE
END Client;
COMPONENT Main;
  VARIABLE c: Client;
  IMPLEMENTATION I;
    BEGIN ?Ask; !Is(3)
  END I;
  BEGIN NEW(c); CONNECT(I(c), I)
  ACTIVITY {EXCLUSIVE} DELETE(c)
END Main;
