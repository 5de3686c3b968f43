(* nothing *)
