(* Who deletes a component finishes what it has open with it: its servers end. *)
INTERFACE Double; { IN Ask(n: INTEGER) OUT Is(n: INTEGER) } END Double;
COMPONENT Doubler OFFERS Double;
  IMPLEMENTATION Double;
    VARIABLE n: INTEGER;
    BEGIN
      WHILE ?Ask DO ?Ask(n); !Is(2 * n) END;
      WRITE("end "); WRITELINE
  END Double;
END Doubler;
COMPONENT Main;
  VARIABLE d: Doubler; n: INTEGER;
  PROCEDURE Local(): INTEGER;
    VARIABLE d: Doubler; n: INTEGER;
    BEGIN NEW(d); d!Ask(1); d?Is(n); RETURN n
  END Local;
  PROCEDURE Given(d: Doubler): INTEGER;
    VARIABLE n: INTEGER;
    BEGIN d!Ask(2); d?Is(n); RETURN n
  END Given;
  PROCEDURE Made(): Doubler;
    VARIABLE d: Doubler;
    BEGIN NEW(d); RETURN d
  END Made;
  BEGIN
    WRITE(Local()); WRITELINE;
    WRITE(Given(Made())); WRITELINE;
    NEW(d); d!Ask(3); d?Is(n); NEW(d); d!Ask(n); d?Is(n); DELETE(d); WRITE(n); WRITELINE
END Main;
