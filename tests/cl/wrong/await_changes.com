(* error[await] in line 7: a condition of AWAIT changes nothing *)
COMPONENT Main;
  VARIABLE n: INTEGER;
  PROCEDURE Count(): BOOLEAN;
    BEGIN INC(n); RETURN n > 5
  END Count;
  ACTIVITY {EXCLUSIVE} AWAIT(Count())
END Main;
