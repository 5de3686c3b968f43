(* What is received goes to any designator: elements of arrays, of collections, of texts. *)
INTERFACE Give; IN Ask OUT Two(n: INTEGER; c: CHARACTER) END Give;
COMPONENT Giver OFFERS Give;
  IMPLEMENTATION Give;
    BEGIN ?Ask; !Two(7, "z")
  END Give;
END Giver;
COMPONENT Main;
  VARIABLE g: Giver; a[i: INTEGER]: INTEGER {ARRAY}; m[k: TEXT]: INTEGER; t: TEXT;
  BEGIN
    NEW(g); NEW(a, 2); t := "abc";
    g!Ask; g?Two(a[1], t[1]);
    g!Ask; g?Two(m["new"], t[2]);
    WRITE(a[1]); WRITE(m["new"]); WRITE(t); WRITELINE
END Main;
