(* error[unknown-type] in line 3: it is TEXT in this language *)
COMPONENT Main;
  VARIABLE a: STRING;
  BEGIN WRITE(a)
END Main;
