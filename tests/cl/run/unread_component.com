(* A component in a message that its receiver did not read ends with the receiver, and only it: the
   sender, which drops the message later, must not take another one for it. *)

INTERFACE Gift;
  IN Ask { OUT Give(thing: Thing) }
END Gift;

INTERFACE Control;
  IN Sent OUT Yes | IN Go OUT Gone
END Control;

INTERFACE Asking;
  IN There OUT Here(name: INTEGER)
END Asking;

COMPONENT Thing OFFERS Asking;
  IMPLEMENTATION Asking;
  BEGIN
    ?There; !Here(7)
  END Asking;
FINALLY
  WRITE("a thing ends"); WRITELINE
END Thing;

COMPONENT Giver OFFERS Gift, Control;
  VARIABLE thing: Thing; sent, go, gone: BOOLEAN;

  IMPLEMENTATION Gift;
  BEGIN
    ?Ask;
    BEGIN {EXCLUSIVE} NEW(thing); !Give(thing); sent := TRUE END;
    BEGIN {EXCLUSIVE} AWAIT(go); gone := TRUE END
  END Gift;

  IMPLEMENTATION Control;
  BEGIN
    IF ?Sent THEN
      ?Sent;
      BEGIN {EXCLUSIVE} AWAIT(sent) END;
      !Yes
    ELSE
      ?Go;
      BEGIN {EXCLUSIVE} go := TRUE END;
      BEGIN {EXCLUSIVE} AWAIT(gone) END;
      !Gone
    END
  END Control;

BEGIN
  sent := FALSE; go := FALSE; gone := FALSE
END Giver;

COMPONENT Taker REQUIRES Gift;
BEGIN
  Gift!Ask
END Taker;

COMPONENT {ENTRYPOINT} Main;
  VARIABLE giver: Giver; taker: Taker; other: Thing; name: INTEGER;
ACTIVITY {EXCLUSIVE}
  NEW(giver); NEW(taker);
  CONNECT(Gift(taker), Gift(giver));
  Control(giver)!Sent; Control(giver)?Yes;
  DELETE(taker);
  WRITE("the receiver has ended"); WRITELINE;
  (* It may lie where the gift was. *)
  NEW(other);
  Control(giver)!Go; Control(giver)?Gone;
  DELETE(giver);
  WRITE("the sender has ended"); WRITELINE;
  other!There; other?Here(name);
  WRITE(name); WRITELINE;
  DELETE(other);
  WRITE("end"); WRITELINE
END Main;
