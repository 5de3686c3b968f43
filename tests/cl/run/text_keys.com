(* Texts as keys, with 0X inside, of all lengths; texts and characters compared and converted. *)
COMPONENT {ENTRYPOINT} Main;
  VARIABLE t, u: TEXT; c: CHARACTER; i: INTEGER; m[k: TEXT]: INTEGER; k: TEXT; r: REAL;
BEGIN
  t := "a"; c := "a";
  WRITE(t = "a"); WRITE(t = c); WRITE(c = t); WRITE(t = 61X); WRITE(t # 62X); WRITE(t < "b"); WRITELINE;
  WRITE(INTEGER("0")); WRITE(" "); WRITE(INTEGER("42")); WRITE(" "); t := "0"; WRITE(INTEGER(t)); WRITELINE;
  i := MIN(INTEGER); WRITE(i MOD -1); WRITE(" "); WRITE(MIN(INTEGER) MOD -1); WRITE(" "); WRITE(-7 DIV 2); WRITE(" "); WRITE(-7 MOD 2); WRITELINE;
  NEW(t, 5); t[0] := "x"; t[1] := 0X; t[2] := "y"; u := "x";
  WRITE(t = u); WRITE(LENGTH(t)); m[t] := 1; INC(m[u]); WRITE(m["x"]); WRITE(m[t]); WRITELINE;
  t := ""; m[t] := 5; m["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] := 6; m["aaaaaaa"] := 7; m["aaaaaaaa"] := 8; m["aaaaaaaab"] := 9;
  FOREACH k OF m DO WRITE(k); WRITE("="); WRITE(m[k]); WRITE(" ") END; WRITELINE;
  FOREACH k OF m DO IF EXISTS(m[k]) THEN m[k] := m[k] * 2 END; IF m[k] > 15 THEN DELETE(m[k]) END END;
  WRITE(LENGTH(t)); FOREACH k OF m DO WRITE(m[k]); WRITE(" ") END; WRITELINE;
  r := 0.; WRITE(r); WRITE(" "); WRITE(2. + 1); WRITE(REAL("2.5")); WRITELINE;
  t := TEXT(41X); WRITE(t); u := t; t[0] := "z"; WRITE(u); WRITE(t); WRITELINE
END Main;
