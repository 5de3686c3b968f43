(* options: --stack 1M *)
COMPONENT Main;
  PROCEDURE Down(n: INTEGER): INTEGER;
    BEGIN
      RETURN Down(n + 1) + 1
  END Down;
  BEGIN
    WRITE(Down(0))
END Main;
