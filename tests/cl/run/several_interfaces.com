(* A component offers several interfaces; Interface(instance) names one. *)
INTERFACE Deposit; IN Put(n: INTEGER) OUT Done END Deposit;
INTERFACE Balance; IN Ask OUT Is(n: INTEGER) END Balance;
COMPONENT Account OFFERS Deposit, Balance;
  VARIABLE sum: INTEGER;
  IMPLEMENTATION Deposit;
    VARIABLE n: INTEGER;
    BEGIN {EXCLUSIVE} ?Put(n); sum := sum + n; !Done
  END Deposit;
  IMPLEMENTATION Balance;
    BEGIN {SHARED} ?Ask; !Is(sum)
  END Balance;
END Account;
COMPONENT Main;
  VARIABLE a: Account; n: INTEGER;
  BEGIN
    NEW(a);
    Deposit(a)!Put(10); Deposit(a)?Done;
    Deposit(a)!Put(-3); Deposit(a)?Done;
    Balance(a)!Ask; Balance(a)?Is(n); WRITE(n); WRITELINE
END Main;
