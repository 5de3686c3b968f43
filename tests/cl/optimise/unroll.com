(* Short rounds are taken four at a time, longer ones as they are. *)
COMPONENT {ENTRYPOINT} Unroll;

  PROCEDURE Copy(n: INTEGER): INTEGER;
    VARIABLE p[i: INTEGER], q[i: INTEGER]: INTEGER {ARRAY}; i: INTEGER;
  BEGIN
    NEW(p, n); NEW(q, n);
    FOR i := 1 TO n - 1 DO q[i] := p[i] END;
    FOR i := n - 1 TO 1 BY -1 DO p[i] := q[i] END;
    RETURN q[0]
  END Copy;

BEGIN
  WRITE(Copy(9))
END Unroll;
