(* A component may have no body at all. *)
COMPONENT Nothing;
END Nothing;
