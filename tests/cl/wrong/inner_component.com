(* error[unknown-type] in line 7: a component declared inside another is not visible outside *)
COMPONENT Other;
  COMPONENT Hidden;
  END Hidden;
END Other;
COMPONENT Main;
  VARIABLE h: Hidden;
END Main;
