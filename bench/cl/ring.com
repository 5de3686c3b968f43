(* A token, which counts its hops, passed round a ring of components.
   Arguments: NODES ROUNDS. Prints the hops. *)

INTERFACE Token;
  { IN Pass(hops: INTEGER) } IN Stop
END Token;

INTERFACE Control;
  IN Start(hops: INTEGER) OUT Done(hops: INTEGER)
END Control;

(* A node receives the token and passes it on. What it requires belongs to all processes of the
   component, so that using it needs the lock. *)
COMPONENT Node OFFERS Token REQUIRES Token;
  IMPLEMENTATION Token;
    VARIABLE hops: INTEGER;
  BEGIN
    WHILE ?Pass DO
      ?Pass(hops);
      BEGIN {EXCLUSIVE} Token!Pass(hops + 1) END
    END;
    ?Stop;
    BEGIN {EXCLUSIVE} Token!Stop END
  END Token;
END Node;

(* The node that sends the token on its way, and stops the ring after so many hops. *)
COMPONENT Head OFFERS Token, Control REQUIRES Token;
  VARIABLE last, passed: INTEGER; stopped: BOOLEAN;

  IMPLEMENTATION Control;
    VARIABLE asked, counted: INTEGER;
  BEGIN
    ?Start(asked);
    BEGIN {EXCLUSIVE}
      last := asked;
      Token!Pass(1);
      AWAIT(stopped);
      counted := passed
    END;
    !Done(counted)
  END Control;

  IMPLEMENTATION Token;
    VARIABLE hops: INTEGER;
  BEGIN
    WHILE ?Pass DO
      ?Pass(hops);
      BEGIN {EXCLUSIVE}
        IF hops < last THEN
          Token!Pass(hops + 1)
        ELSE
          passed := hops;
          Token!Stop
        END
      END
    END;
    ?Stop;
    BEGIN {EXCLUSIVE} stopped := TRUE END
  END Token;

BEGIN
  last := 0; passed := 0; stopped := FALSE
END Head;

COMPONENT {ENTRYPOINT} Ring REQUIRES Arguments;
  VARIABLE
    nodes, rounds, i, hops: INTEGER;
    head: Head;
    node[number: INTEGER]: Node;

  PROCEDURE Parameter(number: INTEGER): INTEGER;
    VARIABLE text: TEXT; at, value: INTEGER;
  BEGIN
    Arguments!Get(number); Arguments?Argument(text);
    value := 0; at := 0;
    WHILE (at < LENGTH(text)) AND (text[at] # 0X) DO
      value := value * 10 + INTEGER(text[at]) - 30H; (* 30H is the digit nought *)
      INC(at)
    END;
    RETURN value
  END Parameter;

BEGIN
  nodes := Parameter(1); rounds := Parameter(2)
ACTIVITY {EXCLUSIVE}
  NEW(head);
  FOR i := 2 TO nodes DO NEW(node[i]) END;
  CONNECT(Token(head), Token(node[2]));
  FOR i := 2 TO nodes - 1 DO CONNECT(Token(node[i]), Token(node[i + 1])) END;
  CONNECT(Token(node[nodes]), Token(head));
  Control(head)!Start(nodes * rounds);
  Control(head)?Done(hops);
  WRITE(hops); WRITELINE
END Ring;
