(* An assertion that holds does nothing, with a code and without. *)
COMPONENT Main;
  BEGIN
    ASSERT(1 + 1 = 2); ASSERT(TRUE, 17); WRITE("held"); WRITELINE
END Main;
