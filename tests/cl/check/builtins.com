(* Every built-in with every form it has, and each wrong use of it. *)
COMPONENT Part; END Part;
COMPONENT Main REQUIRES SystemTime;
  VARIABLE
    i: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT; p: Part; x: ANY;
    a[k, l: INTEGER]: INTEGER {ARRAY}; m[k: TEXT]: INTEGER; v[k: INTEGER]: TEXT;
  PROCEDURE Right;
    BEGIN
      WRITE(i); WRITE(r); WRITE(b); WRITE(c); WRITE(t); WRITE("a"); WRITE("ab"); WRITELINE; WRITELINE();
      WRITEHEX(i); INC(i); INC(i, 2); DEC(i); DEC(i, i); INC(a[0, 1]); INC(m["k"]); DEC(m["k"], 2);
      ASSERT(b); ASSERT(b, 3); PASSIVATE(5);
      i := INTEGER(i) + INTEGER(r) + INTEGER(c) + INTEGER(t) + INTEGER("A") + INTEGER("12");
      r := REAL(i) + REAL(r) + REAL(t) + i;
      c := CHARACTER(i); c := CHARACTER(c); c := CHARACTER(t); c := "x"; c := t[0]; c := v[1][0];
      t := TEXT(t); t := TEXT(i); t := TEXT(r); t := TEXT(c); t := TEXT(b);
      i := LENGTH(t) + LENGTH("abc") + LENGTH(a) + LENGTH(a, 0) + LENGTH(a, 1) + LENGTH(v[2]);
      b := EXISTS(p) OR EXISTS(m["k"]) OR EXISTS(v[1]) OR FAILED(p) OR TERMINATED() OR TERMINATED;
      i := MIN(INTEGER) + MAX(INTEGER) + COUNT(SystemTime) + RANDOM(1, i) + TIME;
      r := MIN(REAL) + MAX(REAL) + SIN(r) + COS(1) + TAN(i) + ARCSIN(r) + ARCCOS(r) + ARCTAN(r) + SQRT(4) + PI;
      HALT(i)
  END Right;
  PROCEDURE Wrong;
    BEGIN
      WRITE; WRITE(p); WRITE(a); WRITE(m); WRITE(x); WRITE(1, 2); WRITELINE(1);
      WRITEHEX(r); WRITEHEX; WRITEHEX("A");
      INC; INC(r); INC(1); INC(t); INC(i, r); INC(a); INC(i, 1, 2); DEC(b); DEC(C);
      HALT; HALT(t); HALT(r); ASSERT; ASSERT(i); ASSERT(b, b); PASSIVATE; PASSIVATE(r); PASSIVATE(1, 2);
      i := INTEGER(b); i := INTEGER(p); i := INTEGER(); i := INTEGER(1, 2);
      r := REAL(b); r := REAL(c); r := REAL(p);
      c := CHARACTER(r); c := CHARACTER(b); c := "ab"; c := ""; c := i; c := t;
      t := TEXT(p); t := TEXT(); t := c; t := i;
      i := LENGTH(i); i := LENGTH(m); i := LENGTH(t, 0); i := LENGTH(a, 2); i := LENGTH(a, i); i := LENGTH(a, -1);
      b := EXISTS(i); b := EXISTS(a); b := EXISTS(a[0, 0]); b := EXISTS(t); b := EXISTS(m);
      b := FAILED(i); b := FAILED(1); b := FAILED(a); b := TERMINATED(1);
      i := MIN(TEXT); i := MAX(i); i := MAX(1); i := MIN();
      i := COUNT(p); i := COUNT(1); i := COUNT(Input); i := COUNT(Nothing);
      i := RANDOM(1); i := RANDOM(1, r); i := RANDOM(t, 2); i := TIME(1); r := PI(2);
      r := SIN(t); r := SIN(); r := COS(b); r := SQRT(c); r := ARCTAN(1, 2);
      LENGTH(t); SIN(r); TIME; PI; i := WRITELINE; i := WRITE(1); i := HALT(1)
  END Wrong;
  BEGIN Right; Wrong
END Main;
