(* Constants of every type, built from others, seen by inner components. *)
COMPONENT Main;
  CONSTANT
    Size = 10; Half = Size DIV 2; Pi2 = 2 * PI; Name = "tidemill"; Letter = "q"; Yes = ~FALSE;
    Low = -5; Hexadecimal = 0FFH; Ring = 07X;
  COMPONENT Inner;
    CONSTANT Twice = Size * 2;
    BEGIN WRITE(Twice); WRITE(" "); WRITE(Name); WRITELINE
  END Inner;
  VARIABLE inner: Inner;
  BEGIN
    WRITE(Size); WRITE(" "); WRITE(Half); WRITE(" "); WRITE(Pi2 > 6.28); WRITE(" ");
    WRITE(Letter); WRITE(" "); WRITE(Yes); WRITE(" "); WRITE(Low); WRITE(" ");
    WRITE(Hexadecimal); WRITE(" "); WRITE(INTEGER(Ring)); WRITELINE;
    NEW(inner); DELETE(inner)
END Main;
