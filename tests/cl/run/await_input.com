(* AWAIT(INPUT(...)) waits for a message and releases the lock meanwhile. *)
INTERFACE Slow; IN Start OUT Ready END Slow;
INTERFACE Quick; IN Ask OUT Is(n: INTEGER) END Quick;
COMPONENT Sleeper OFFERS Slow REQUIRES Quick;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Slow;
    BEGIN {EXCLUSIVE} ?Start; Quick!Ask; Quick?Is(n); WRITE("asked "); WRITE(n); WRITELINE; !Ready
  END Slow;
END Sleeper;
COMPONENT Main;
  COMPONENT Middle OFFERS Quick;
    VARIABLE s: Sleeper; answered: INTEGER;
    IMPLEMENTATION Quick;
      BEGIN {EXCLUSIVE} ?Ask; INC(answered); !Is(answered)
    END Quick;
    BEGIN NEW(s); CONNECT(Quick(s), Quick)
    ACTIVITY {EXCLUSIVE}
      s!Start; AWAIT(INPUT(s, Ready)); s?Ready; WRITE("ready "); WRITE(answered); WRITELINE
  END Middle;
  VARIABLE m: Middle;
  BEGIN NEW(m)
END Main;
