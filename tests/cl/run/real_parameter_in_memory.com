(* A REAL parameter by value that is passed on as VARIABLE, in a procedure that never waits. *)
COMPONENT Main;
  VARIABLE x: REAL;
  PROCEDURE Half(VARIABLE r: REAL);
    BEGIN r := r / 2.0
  END Half;
  PROCEDURE Quarter(n: INTEGER; r: REAL): REAL;
    BEGIN Half(r); Half(r); RETURN r + REAL(n)
  END Quarter;
  BEGIN x := 10.0; WRITE(Quarter(1, x)); WRITE(" "); WRITE(x); WRITELINE
END Main;
