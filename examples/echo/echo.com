(*
  An echo over TCP: a server component accepts as many connections as it is told to, and sends back
  what arrives on each; clients connect, send a text and compare what comes back.

  A component has one communication through a required interface at a time, so the listener and each
  connection are components of their own, which share the Network of the program.
*)
INTERFACE Listening;
  IN Open(address: TEXT; connections: INTEGER)
  ( OUT Ready(address: TEXT) OUT Served | OUT Refused(reason: TEXT) )
END Listening;

INTERFACE Serving;
  IN Serve(id: INTEGER) OUT Finished
END Serving;

INTERFACE Calling;
  IN Call(address, data: TEXT) OUT Answer(data: TEXT)
END Calling;

COMPONENT Connection OFFERS Serving REQUIRES Network;
  IMPLEMENTATION Serving;
    VARIABLE id: INTEGER; text: TEXT;
    BEGIN {EXCLUSIVE}
      ?Serve(id);
      Network!Take(id);
      IF Network?Opened THEN
        Network?Opened(text);
        Network!Receive;
        WHILE Network?Data DO
          Network?Data(text); Network!Send(text); Network!Receive
        END;
        Network?End; Network!Close
      ELSE
        Network?Failed(text)
      END;
      !Finished
  END Serving;
END Connection;

COMPONENT Server OFFERS Listening REQUIRES Network;
  VARIABLE connection[number: INTEGER]: Connection;

  IMPLEMENTATION Listening;
    VARIABLE connections, i, id: INTEGER; text: TEXT;
    BEGIN {EXCLUSIVE}
      ?Open(text, connections);
      Network!Listen(text);
      IF Network?Opened THEN
        Network?Opened(text); !Ready(text);
        FOR i := 1 TO connections DO
          Network!Accept; Network?Accepted(id);
          NEW(connection[i]); CONNECT(Network(connection[i]), Network);
          connection[i]!Serve(id)
        END;
        FOR i := 1 TO connections DO connection[i]?Finished END;
        Network!Close; !Served
      ELSE
        Network?Failed(text); !Refused(text)
      END
  END Listening;
END Server;

COMPONENT Client OFFERS Calling REQUIRES Network;
  IMPLEMENTATION Calling;
    VARIABLE address, data, part, answer: TEXT; got, i: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Call(address, data);
      NEW(answer, LENGTH(data)); got := 0;
      Network!Connect(address);
      IF Network?Opened THEN
        Network?Opened(address);
        Network!Send(data);
        WHILE got < LENGTH(data) DO
          Network!Receive; Network?Data(part);
          FOR i := 0 TO LENGTH(part) - 1 DO answer[got] := part[i]; INC(got) END
        END;
        Network!Close
      ELSE
        Network?Failed(answer)
      END;
      !Answer(answer)
  END Calling;
END Client;

COMPONENT Echo REQUIRES Network, Arguments;
  CONSTANT Clients = 3;
  VARIABLE
    server: Server; client[number: INTEGER]: Client; address, text: TEXT;
    i, connections: INTEGER;
  BEGIN
    Arguments!Get(1); Arguments?Argument(address);
    Arguments!Get(2); Arguments?Argument(text);
    IF text = "" THEN connections := Clients ELSE connections := INTEGER(text) END;
    NEW(server); CONNECT(Network(server), Network);
    IF address = "" THEN server!Open("localhost:0", Clients)
    ELSE server!Open(address, connections)
    END;
    IF server?Ready THEN
      server?Ready(text);
      IF address = "" THEN
        FOR i := 1 TO Clients DO
          NEW(client[i]); CONNECT(Network(client[i]), Network);
          client[i]!Call(text, "echo over TCP")
        END;
        FOR i := 1 TO Clients DO client[i]?Answer(text); WRITE(text); WRITELINE END
      END;
      server?Served
    ELSE
      server?Refused(text); WRITE(text); WRITELINE
    END
END Echo;
