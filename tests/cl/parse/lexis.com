(* (* nested *) comment with "text" and ä *) COMPONENT A; (**)
(* * ( ) ** *)
VARIABLE END1, endOf, _x, Begin1: INTEGER; if, then: INTEGER; while[end: INTEGER]: BOOLEAN;
BEGIN
  WRITE("(* no comment *)"); WRITE("tab	here, ü, 🌊, \\n"); x:=0AX;x:=0FFH;
  x:=1<2;y:=1>=2;a[1]:=b[2];
  end := 3; if := 4; end[1] := 5; return(1); if!M; else?N
END A;
