(* error[unterminated-comment] in line 4: the comment has no end *)
COMPONENT Main;
END Main;
(* never closed (* inner *)
