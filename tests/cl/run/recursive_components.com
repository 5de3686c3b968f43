(* A component contains components of its own type: a tree of 2^5 leaves. *)
INTERFACE Tree; IN Grow(depth: INTEGER) OUT Leaves(n: INTEGER) END Tree;
COMPONENT Node OFFERS Tree;
  VARIABLE left, right: Node;
  IMPLEMENTATION Tree;
    VARIABLE d, a, b: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Grow(d);
      IF d = 0 THEN !Leaves(1)
      ELSE
        NEW(left); NEW(right); left!Grow(d - 1); right!Grow(d - 1);
        left?Leaves(a); right?Leaves(b); !Leaves(a + b)
      END
  END Tree;
END Node;
COMPONENT Main;
  VARIABLE root: Node; n: INTEGER;
  BEGIN NEW(root); root!Grow(5); root?Leaves(n); WRITE(n); WRITELINE
END Main;
