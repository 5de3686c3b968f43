(*
  Skynet: a tree of components with ten children each. The leaves send their numbers up, and every
  component adds up what its children send.
*)
INTERFACE Tree;
  IN Grow(from, size: INTEGER) OUT Sum(sum: INTEGER)
END Tree;

COMPONENT Node OFFERS Tree;
  CONSTANT Children = 10;
  VARIABLE child[number: INTEGER]: Node;

  IMPLEMENTATION Tree;
    VARIABLE from, size, part, i, sum, total: INTEGER;
    BEGIN {EXCLUSIVE}
      ?Grow(from, size);
      IF size = 1 THEN !Sum(from)
      ELSE
        part := size DIV Children; total := 0;
        FOR i := 0 TO Children - 1 DO NEW(child[i]); child[i]!Grow(from + i * part, part) END;
        FOR i := 0 TO Children - 1 DO child[i]?Sum(sum); total := total + sum END;
        !Sum(total)
      END
  END Tree;
END Node;

COMPONENT Skynet REQUIRES Arguments;
  VARIABLE root: Node; leaves, power, sum: INTEGER; text: TEXT;
  BEGIN
    Arguments!Get(1); Arguments?Argument(text);
    IF text = "" THEN leaves := 1000 ELSE leaves := INTEGER(text) END;
    power := 1;
    WHILE power < leaves DO power := power * 10 END;
    ASSERT(power = leaves, 10);
    NEW(root);
    root!Grow(0, leaves); root?Sum(sum);
    WRITE(sum); WRITELINE
END Skynet;
