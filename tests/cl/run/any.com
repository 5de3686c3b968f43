(* A variable of type ANY holds a component of any type; IS, OFFERS and REQUIRES test what it is. *)
INTERFACE A; IN Ask OUT Is END A;
INTERFACE B; IN Ask OUT Is END B;
COMPONENT Cat OFFERS A;
  IMPLEMENTATION A;
    BEGIN ?Ask; WRITE("miaow "); !Is
  END A;
END Cat;
COMPONENT Dog OFFERS A, B REQUIRES A;
  IMPLEMENTATION A;
    BEGIN ?Ask; WRITE("woof "); !Is
  END A;
  IMPLEMENTATION B;
    BEGIN ?Ask; WRITE("sits "); !Is
  END B;
END Dog;
COMPONENT Main;
  VARIABLE x: ANY; a: ANY(A); i: INTEGER;
  PROCEDURE Tell;
    BEGIN
      WRITE(x IS Cat); WRITE(x IS Dog); WRITE(x OFFERS A); WRITE((x OFFERS A, B));
      WRITE(x REQUIRES A); WRITE(x IS ANY(A | A)); WRITELINE
  END Tell;
  BEGIN
    NEW(x, Cat); Tell;
    NEW(x, Dog); Tell;
    FOR i := 1 TO 2 DO
      IF i = 1 THEN NEW(a, Cat) ELSE NEW(a, Dog) END;
      A(a)!Ask; A(a)?Is;
      IF a OFFERS B THEN B(a)!Ask; B(a)?Is END
    END;
    WRITELINE
END Main;
