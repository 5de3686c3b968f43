(* error[lowercase-keyword] in line 3: keywords are in upper case *)
COMPONENT Main;
  BEGIN if TRUE then WRITELINE END
END Main;
