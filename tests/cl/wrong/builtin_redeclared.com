(* error[duplicate-name] in line 3: WRITE is a procedure of the language *)
COMPONENT Main;
  PROCEDURE WRITE(i: INTEGER);
  END WRITE;
END Main;
