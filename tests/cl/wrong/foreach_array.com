(* error[type] in line 4: FOREACH goes through a collection *)
COMPONENT Main;
  VARIABLE a[i: INTEGER]: INTEGER {ARRAY}; i: INTEGER;
  BEGIN NEW(a, 2); FOREACH i OF a DO END
END Main;
