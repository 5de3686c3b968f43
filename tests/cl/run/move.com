(* MOVE hands a component over: the source is empty afterwards, the component lives on. *)
INTERFACE Value; IN Set(n: INTEGER) OUT Ok | IN Get OUT Is(n: INTEGER) END Value;
COMPONENT Part OFFERS Value;
  VARIABLE v: INTEGER;
  IMPLEMENTATION Value;
    BEGIN {EXCLUSIVE} IF ?Set THEN ?Set(v); !Ok ELSE ?Get; !Is(v) END
  END Value;
  FINALLY WRITE("gone "); WRITE(v); WRITELINE
END Part;
COMPONENT Main;
  VARIABLE a, b: Part; c[i: INTEGER]: Part; n: INTEGER;
  BEGIN
    NEW(a); a!Set(1); a?Ok;
    MOVE(a, b); WRITE(EXISTS(a)); WRITE(EXISTS(b)); WRITELINE;
    b!Get; b?Is(n); WRITE(n); WRITELINE;
    NEW(a); a!Set(2); a?Ok; MOVE(a, b);
    MOVE(b, c[7]); WRITE(EXISTS(b)); c[7]!Get; c[7]?Is(n); WRITE(n); WRITELINE
END Main;
