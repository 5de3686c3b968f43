COMPONENT Main;
  VARIABLE t: TEXT;
  BEGIN
    NEW(t, 2); t[0] := "a"; t[1] := "b";
    t[2] := "c"
END Main;
