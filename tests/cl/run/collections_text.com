(* TEXT keys, in ascending order of their bytes. *)
COMPONENT Main;
  VARIABLE count[word: TEXT]: INTEGER; w: TEXT;
  PROCEDURE Add(w: TEXT);
    BEGIN
      IF ~EXISTS(count[w]) THEN count[w] := 0 END;
      INC(count[w])
  END Add;
  BEGIN
    Add("the"); Add("tide"); Add("turns"); Add("the"); Add("mill"); Add("Mill"); Add("the"); Add("");
    FOREACH w OF count DO WRITE(w); WRITE("="); WRITE(count[w]); WRITE(" ") END; WRITELINE
END Main;
