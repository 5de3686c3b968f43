(* error[unterminated-text] in line 3: the text has no end in its line *)
COMPONENT Main;
  BEGIN WRITE("open);
END Main;
