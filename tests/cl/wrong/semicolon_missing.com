(* error[missing-semicolon] in line 4: ; is expected between statements *)
COMPONENT Main;
  BEGIN
    WRITE(1)
    WRITE(2)
END Main;
