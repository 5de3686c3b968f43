(* Messages carry several parameters of all types. *)
INTERFACE Everything;
  IN All(i, j: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT) OUT Back(t: TEXT; r: REAL)
END Everything;
COMPONENT Echo OFFERS Everything;
  IMPLEMENTATION Everything;
    VARIABLE i, j: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT;
    BEGIN
      ?All(i, j, r, b, c, t);
      WRITE(i); WRITE(j); WRITE(r); WRITE(b); WRITE(c); WRITE(t); WRITELINE;
      t[0] := c; !Back(t, r * 2)
  END Everything;
END Echo;
COMPONENT Main;
  VARIABLE e: Echo; t, u: TEXT; r: REAL;
  BEGIN
    NEW(e); t := "cat";
    e!All(1, -2, 3, TRUE, "b", t); e?Back(u, r);
    WRITE(t); WRITE(" "); WRITE(u); WRITE(" "); WRITE(r); WRITELINE
END Main;
