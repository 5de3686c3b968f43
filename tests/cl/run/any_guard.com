(* x(Type) treats an ANY variable as that type. *)
INTERFACE A; IN Ask OUT Is(n: INTEGER) END A;
COMPONENT Cat OFFERS A;
  IMPLEMENTATION A;
    BEGIN ?Ask; !Is(9)
  END A;
END Cat;
COMPONENT Main;
  VARIABLE x: ANY; c: Cat; n: INTEGER;
  BEGIN
    NEW(x, Cat);
    IF x IS Cat THEN x(Cat)!Ask; x(Cat)?Is(n); WRITE(n); MOVE(x(Cat), c) END;
    WRITE(EXISTS(x)); WRITE(EXISTS(c)); WRITELINE
END Main;
