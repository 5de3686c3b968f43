(* error[type] in line 11: the parameter is an INTEGER, the argument a TEXT *)
INTERFACE Tell; IN Say(n: INTEGER) OUT Ok END Tell;
COMPONENT Part OFFERS Tell;
  IMPLEMENTATION Tell;
    VARIABLE n: INTEGER;
    BEGIN ?Say(n); !Ok
  END Tell;
END Part;
COMPONENT Main;
  VARIABLE p: Part;
  BEGIN NEW(p); p!Say("five")
END Main;
