(* Reports name the variable of a component while it is deleted: of the component, a collection, an array, a procedure. *)
COMPONENT Main;
  COMPONENT Part;
    FINALLY ASSERT(FALSE)
  END Part;
  VARIABLE part: Part; parts[i: INTEGER]: Part;
  PROCEDURE Local;
    VARIABLE inner: Part;
    BEGIN NEW(inner)
  END Local;
  BEGIN
    NEW(part); DELETE(part);
    NEW(parts[3]); NEW(parts[5]); DELETE(parts[3]); DELETE(parts);
    NEW(part); NEW(part); DELETE(part);
    Local
END Main;
