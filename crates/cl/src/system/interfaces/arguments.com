(* They count from 1. *)
INTERFACE Arguments;
  IN GetCount OUT Count(n: INTEGER) | IN Get(i: INTEGER) OUT Argument(x: TEXT)
END Arguments;
