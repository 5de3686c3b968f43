(* Head. *)

(* Of the component. *)
COMPONENT A; (* behind the head *)
(* before VARIABLE *)
VARIABLE x: INTEGER; (* behind x *) y (* y itself *): REAL;
    (* behind all *)
BEGIN (* behind BEGIN *)
  (* first *)
  x := 1 (* before the semicolon *); (* behind *) (* twice *)
  (* own *) y := 2;

  (* a comment
       of several
     lines *)
  IF x (* condition *) THEN (* behind THEN *)
    f(a, (* first *)
      b, (* second *)
      (* own line *)
      c)
  (* before ELSE *)
  ELSE (* behind ELSE *)
    g
    (* before END *)
  END (* behind END *);
  h (* last *)
  (* before END A *)
END A (* name *); (* behind A *)
INTERFACE I;
  IN A (* a *)
  | IN B (* b *)
  (* own *)
  | IN C
END I;
(* The end. *)
