(* A fault is contained: healthy sub-components run their FINALLY, with what they are connected to, and so does the component itself; the owner may await FAILED and make it anew. *)
INTERFACE Log; IN Say(x: TEXT) OUT Said END Log;
INTERFACE Work; IN Do(x: INTEGER) OUT Done(x: INTEGER) END Work;

COMPONENT Book OFFERS Log;
  VARIABLE lines: INTEGER;
  IMPLEMENTATION Log;
    VARIABLE t: TEXT;
    BEGIN ?Say(t); BEGIN {EXCLUSIVE} INC(lines); WRITE(t); WRITELINE END; !Said
  END Log;
  FINALLY WRITE("lines: "); WRITE(lines); WRITELINE
END Book;

COMPONENT Team OFFERS Work REQUIRES Log;
  COMPONENT Member REQUIRES Log;
    ACTIVITY PASSIVATE(1000000)
    FINALLY Log!Say("member ends"); Log?Said
  END Member;
  VARIABLE member: Member; own: Book;
  IMPLEMENTATION Work;
    VARIABLE x: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Do(x); own!Say("work"); own?Said; !Done(100 DIV x)
  END Work;
  BEGIN NEW(own); NEW(member); CONNECT(Log(member), Log)
  FINALLY own!Say("team ends"); own?Said; Log!Say("team is off"); Log?Said
END Team;

COMPONENT Main;
  VARIABLE log: Book; team: Team; try: INTEGER;
  COMPONENT Asker REQUIRES Work;
    CONSTANT Numbers = 2;
    VARIABLE i, x: INTEGER;
    ACTIVITY {EXCLUSIVE}
      FOR i := 4 TO 0 BY -2 DO Work!Do(i); Work?Done(x); WRITE(x); WRITELINE END
    FINALLY WRITE("asker ends"); WRITELINE
  END Asker;
  VARIABLE asker: Asker;
  PROCEDURE Start;
    BEGIN
      NEW(team); CONNECT(Log(team), log); NEW(asker); CONNECT(Work(asker), team)
  END Start;
  BEGIN NEW(log)
  ACTIVITY {EXCLUSIVE}
    FOR try := 1 TO 2 DO
      Start; AWAIT(FAILED(team)); AWAIT(FAILED(asker));
      WRITE("try "); WRITE(try); WRITE(" has failed"); WRITELINE
    END
END Main;
