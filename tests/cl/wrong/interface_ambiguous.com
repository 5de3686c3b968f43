(* error[ambiguous-interface] in line 14: Part offers two interfaces; name one *)
INTERFACE A; IN Go OUT Gone END A;
INTERFACE B; IN Go OUT Gone END B;
COMPONENT Part OFFERS A, B;
  IMPLEMENTATION A;
    BEGIN ?Go; !Gone
  END A;
  IMPLEMENTATION B;
    BEGIN ?Go; !Gone
  END B;
END Part;
COMPONENT Main;
  VARIABLE p: Part;
  BEGIN NEW(p); p!Go
END Main;
