(* error[type] in line 3: MIN and MAX are for INTEGER and REAL *)
COMPONENT Main;
  BEGIN WRITE(MAX(TEXT))
END Main;
