(* Inner names hide outer ones. *)
COMPONENT Main;
  CONSTANT x = 1;
  PROCEDURE Show;
    CONSTANT x = 2;
    BEGIN WRITE(x)
  END Show;
  PROCEDURE Parameter(x: TEXT);
    BEGIN WRITE(x)
  END Parameter;
  BEGIN
    WRITE(x); Show; Parameter("p"); WRITE(x); WRITELINE
END Main;
