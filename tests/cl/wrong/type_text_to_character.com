(* error[type] in line 4: a TEXT of three characters is no CHARACTER *)
COMPONENT Main;
  VARIABLE c: CHARACTER;
  BEGIN c := "abc"
END Main;
