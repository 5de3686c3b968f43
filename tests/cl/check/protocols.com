(* What can follow what: the automaton, and what is certainly wrong. *)
INTERFACE Once; IN A OUT B END Once;
INTERFACE Choice; IN A ( OUT B | OUT C ) [ IN D ] { IN E OUT F } IN G END Choice;
INTERFACE Loop; { IN A | OUT B } END Loop;
INTERFACE Late; [ IN A ] { IN B } OUT C END Late;
INTERFACE Empty; END Empty;
INTERFACE Twice; IN A OUT B IN A END Twice;
COMPONENT Server OFFERS Once, Choice, Loop, Late;
  IMPLEMENTATION Once; BEGIN ?A; !B END Once;
  IMPLEMENTATION Choice; BEGIN ?A; !B; IF ?D THEN ?D ELSE WHILE ?E DO ?E; !F END END; ?G END Choice;
  IMPLEMENTATION Loop; BEGIN WHILE ?A DO ?A END; !B; !B; ?A END Loop;
  IMPLEMENTATION Late; BEGIN IF ?A THEN ?A ELSE WHILE ?B DO ?B END END; !C END Late;
END Server;
COMPONENT Wrong OFFERS Once, Choice, Loop, Late;
  IMPLEMENTATION Once; BEGIN IF ?A THEN ?A ELSE !B END; ?A; !B; !B END Once;
  IMPLEMENTATION Choice; BEGIN ?A; ?D; !B; WHILE ?E DO ?E; ?E; !F; !F END; ?G; ?G END Choice;
  IMPLEMENTATION Loop; BEGIN REPEAT ?A UNTIL FALSE; !B END Loop;
  IMPLEMENTATION Late; VARIABLE i: INTEGER; BEGIN ?A; FOR i := 1 TO 2 DO ?B END; ?A; !C; RETURN; !C END Late;
END Wrong;
COMPONENT Main REQUIRES SystemTime;
  VARIABLE s, u: Server; i: INTEGER; a[k: INTEGER]: Server;
  PROCEDURE Speaks; BEGIN Once(s)!A END Speaks;
  PROCEDURE Silent; BEGIN INC(i) END Silent;
  PROCEDURE Own;
    VARIABLE l: Server;
    BEGIN NEW(l); Once(l)?B; Once(l)!A; Once(l)?B; Once(l)!A; Once(l)!A; Once(s)?B; Once(s)?B
  END Own;
  BEGIN
    NEW(s); Once(s)?B; Once(s)!A; Once(s)!A; Once(s)?B; Silent; Once(s)?B; Once(s)!A; NEW(s); Once(s)?B;
    Once(s)!A; Speaks; Once(s)!A; MOVE(s, u); Once(u)?B; Once(u)?B; Once(a[1])?B; Once(a[i])!A;
    IF i = 1 THEN Choice(s)!A ELSE Choice(s)!A; Choice(s)?B END; Choice(s)!D; Choice(s)!D; Choice(s)!E; Choice(s)?F; Choice(s)!G; Choice(s)!G; Choice(s)!A;
    SystemTime!Wait(1); SystemTime?SystemTime(i); SystemTime?Passed; SystemTime?Passed; Own;
    WHILE i < 3 DO Late(s)!A; INC(i) END; Late(s)?C
  ACTIVITY {EXCLUSIVE}
    Once(s)?B; Once(s)?B; Once(s)!A; PASSIVATE(1); Once(s)!A; Once(s)!A; SystemTime?Passed; SystemTime?Passed; AWAIT(i = 0); SystemTime?Passed
END Main;
