(* FOREACH takes the smallest key above the last one, whatever has been put in or removed. *)
COMPONENT Main;
  CONSTANT Many = 3000;
  VARIABLE
    map[k: INTEGER]: INTEGER; name[t: TEXT]: INTEGER; pair[t: TEXT; k: INTEGER]: INTEGER;
    i, j, k, n, sum: INTEGER; t: TEXT;
  BEGIN
    FOR i := 1 TO 40 DO map[i * 1000003 - 20000000] := i; name[TEXT(i)] := i END;
    n := 0; sum := 0;
    FOREACH k OF map DO
      INC(n); sum := sum + map[k];
      IF n <= 100 THEN map[k + 7] := n END; (* comes next *)
      map[k - 7] := 0; (* has been passed *)
      DELETE(map[k + 1000003]) (* would come later *)
    END;
    WRITE(n); WRITE(" "); WRITE(sum); WRITELINE;
    n := 0;
    FOREACH t OF name DO
      INC(n);
      IF n MOD 3 = 0 THEN DELETE(name[t]) END;
      IF n MOD 5 = 0 THEN DELETE(name[t]); name[t] := 0 END;
      IF t < "3" THEN name["3" ] := 1; DELETE(name["39"]) END
    END;
    WRITE(n); WRITE(":");
    FOREACH t OF name DO WRITE(" "); WRITE(t) END; WRITELINE;
    (* Nested, over the same collection, with changes enough to make the order anew. *)
    FOR i := 1 TO Many DO pair[TEXT(i MOD 50), i * 7919 MOD Many] := i END;
    n := 0;
    FOREACH t, k OF pair DO
      INC(n);
      IF n MOD 500 = 0 THEN
        j := 0;
        FOREACH t, i OF pair DO INC(j) END;
        WRITE(j); WRITE(" ")
      END;
      DELETE(pair[t, k]);
      IF n MOD 2 = 0 THEN pair["zz", -n] := n END
    END;
    WRITE(n); WRITELINE;
    n := 0; FOREACH t, k OF pair DO INC(n) END; WRITE(n); WRITELINE;
    (* Keys far apart, near 0 and below it. *)
    FOR i := -50 TO 50 DO map[i] := i; map[i * 4000000000000] := i END;
    k := MIN(INTEGER); n := 0;
    FOREACH i OF map DO ASSERT(i > k); k := i; INC(n) END;
    WRITE(n); WRITELINE;
    (* A text counts up to its 0X. *)
    NEW(t, 12); t[0] := "3"; t[1] := 0X; t[2] := "x"; WRITE(EXISTS(name[t])); t[1] := "1";
    WRITE(EXISTS(name[t])); WRITELINE
END Main;
