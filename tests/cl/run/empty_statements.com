(* Empty statements and trailing semicolons are legal everywhere. *)
COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN
    ;;
    IF TRUE THEN ; WRITE("if"); ELSE ; END;
    WHILE FALSE DO END;
    REPEAT ; UNTIL TRUE;
    FOR i := 1 TO 2 DO ; END;
    BEGIN ; END;
    WRITELINE;
END Main;
