(* error[nested-lock] in line 5: Down calls itself while it holds EXCLUSIVE *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  PROCEDURE Down;
    BEGIN {EXCLUSIVE} DEC(n); IF n > 0 THEN Down END
  END Down;
  ACTIVITY Down
END Main;
