(* AWAIT chains: each process waits for its turn. *)
INTERFACE Turn; IN Take(n: INTEGER) OUT Taken END Turn;
COMPONENT Gate OFFERS Turn;
  VARIABLE next: INTEGER;
  IMPLEMENTATION Turn;
    VARIABLE n: INTEGER;
    BEGIN {EXCLUSIVE} ?Take(n); AWAIT(next = n); WRITE(n); WRITE(" "); INC(next); !Taken
  END Turn;
END Gate;
COMPONENT Main;
  COMPONENT Numbered REQUIRES Turn; 
    BEGIN Turn!Take(3); Turn?Taken
  END Numbered;
  COMPONENT Second REQUIRES Turn; 
    BEGIN Turn!Take(2); Turn?Taken; Turn!Take(4); Turn?Taken
  END Second;
  COMPONENT First REQUIRES Turn; 
    BEGIN Turn!Take(0); Turn?Taken; Turn!Take(1); Turn?Taken
  END First;
  VARIABLE g: Gate; a: Numbered; b: Second; c: First;
  BEGIN
    NEW(g); NEW(a); NEW(b); NEW(c);
    CONNECT(Turn(a), Turn(g)); CONNECT(Turn(b), Turn(g)); CONNECT(Turn(c), Turn(g));
    DELETE(a); DELETE(b); DELETE(c); WRITELINE
END Main;
