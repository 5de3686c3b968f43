(* PASSIVATE and TIME: components marked {SYNCHRONOUS} share the clock of their owner. *)
INTERFACE Start; IN Every(d, n: INTEGER; name: TEXT) END Start;
COMPONENT Ticker OFFERS Start;
  IMPLEMENTATION Start;
    VARIABLE d, n, i: INTEGER; name: TEXT;
    BEGIN
      ?Every(d, n, name);
      FOR i := 1 TO n DO PASSIVATE(d); WRITE(name); WRITE(TIME); WRITE(" ") END
  END Start;
END Ticker;
COMPONENT Main;
  VARIABLE a, b: Ticker {SYNCHRONOUS};
  BEGIN
    WRITE(TIME); WRITE(" ");
    NEW(a); NEW(b); a!Every(10, 4, "a"); b!Every(25, 2, "b");
    PASSIVATE(12); WRITE("m"); WRITE(TIME); WRITE(" ");
    DELETE(a); DELETE(b); WRITE("end"); WRITE(TIME); WRITELINE
END Main;
