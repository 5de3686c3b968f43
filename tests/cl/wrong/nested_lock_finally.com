(* error[nested-lock] in line 4: FINALLY counts as exclusive *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  FINALLY BEGIN {SHARED} WRITE(n) END
END Main;
