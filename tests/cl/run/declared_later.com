(* Components and interfaces are visible before their declaration. *)
COMPONENT {ENTRYPOINT} Main;
  VARIABLE s: Later; n: INTEGER;
  BEGIN NEW(s); s!Ask; s?Answer(n); WRITE(n); WRITELINE
END Main;
COMPONENT Later OFFERS Question;
  IMPLEMENTATION Question;
    BEGIN ?Ask; !Answer(42)
  END Question;
END Later;
INTERFACE Question;
  IN Ask OUT Answer(n: INTEGER)
END Question;
