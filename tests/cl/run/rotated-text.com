(* The condition of the loop and its body look at one element. *)
COMPONENT {ENTRYPOINT} Rotated;
  VARIABLE v[i: INTEGER]: TEXT {ARRAY}; i: INTEGER;
BEGIN
  NEW(v, 2);
  WHILE (i < 3) AND (v[1] < TEXT("o")) DO v[1] := TEXT("t"); INC(i) END;
  WRITE(v[1]); WRITE(i)
END Rotated;
