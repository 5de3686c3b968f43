(* Components in collections and arrays; DELETE of one leaves the others. *)
INTERFACE Id; IN Be(n: INTEGER) OUT Ok | IN Who OUT Am(n: INTEGER) END Id;
COMPONENT Part OFFERS Id;
  VARIABLE id: INTEGER;
  IMPLEMENTATION Id;
    BEGIN {EXCLUSIVE} IF ?Be THEN ?Be(id); !Ok ELSE ?Who; !Am(id) END
  END Id;
  FINALLY WRITE("-"); WRITE(id); WRITE(" ")
END Part;
COMPONENT Main;
  VARIABLE c[k: TEXT]: Part; a[i: INTEGER]: Part {ARRAY}; n: INTEGER; k: TEXT;
  BEGIN
    NEW(c["x"]); NEW(c["y"]); c["x"]!Be(1); c["x"]?Ok; c["y"]!Be(2); c["y"]?Ok;
    NEW(a, 2); NEW(a[1]); a[1]!Be(3); a[1]?Ok;
    WRITE(EXISTS(a[0])); WRITE(EXISTS(a[1])); WRITE(EXISTS(c["z"])); WRITELINE;
    FOREACH k OF c DO c[k]!Who; c[k]?Am(n); WRITE(n); WRITE(" ") END; WRITELINE;
    DELETE(c["x"]); WRITE(EXISTS(c["x"])); DELETE(a[1]); WRITE(EXISTS(a[1])); DELETE(c["y"]); WRITELINE
END Main;
