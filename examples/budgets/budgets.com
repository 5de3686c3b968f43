(* options: budgets.olg --listen localhost:0 -q *)
(* Budgets of accounts: a component for each account decides, rules know which accounts there are
   and what was granted, and the main component is whoever spends. *)

INTERFACE Spending;
  { IN Spend(account: TEXT; amount: INTEGER) { OUT Verdict(account: TEXT; amount: INTEGER;
      granted: BOOLEAN) } OUT Done }
END Spending;

(* What is left of one account. *)
COMPONENT Budget OFFERS Spending;
  VARIABLE left: INTEGER;

  IMPLEMENTATION Spending;
    VARIABLE
      account: TEXT;
      amount: INTEGER;
      granted: BOOLEAN;
  BEGIN
    WHILE ?Spend DO
      ?Spend(account, amount);
      ASSERT(amount > 0);
      BEGIN {EXCLUSIVE}
        granted := amount <= left;
        IF granted THEN
          DEC(left, amount)
        END
      END;
      !Verdict(account, amount, granted);
      !Done
    END
  END Spending;
BEGIN
  left := 100
END Budget;

INTERFACE Rules;
  { ( IN open(account: TEXT) | IN close(account: TEXT) | IN request(account: TEXT;
      amount: INTEGER) ) OUT Taken | IN Next ( OUT reply(change: CHARACTER; text: TEXT) |
      OUT total(change: CHARACTER; account: TEXT; sum: INTEGER) | OUT End ) }
END Rules;

COMPONENT {ENTRYPOINT} Main REQUIRES Rules;
  (* Writes what happens next, up to a reply. *)
  PROCEDURE Listen;
    VARIABLE
      change: CHARACTER;
      text: TEXT;
      sum: INTEGER;
      replied: BOOLEAN;
  BEGIN
    WHILE ~replied DO
      Rules!Next;
      IF Rules?reply THEN
        Rules?reply(change, text);
        WRITE(text);
        WRITELINE;
        replied := TRUE
      ELSE
        Rules?total(change, text, sum);
        WRITE("  granted to ");
        WRITE(text);
        WRITE(": ");
        WRITE(sum);
        WRITELINE
      END
    END
  END Listen;

  PROCEDURE Ask(account: TEXT; amount: INTEGER);
  BEGIN
    Rules!request(account, amount);
    Rules?Taken;
    Listen
  END Ask;
BEGIN
  Rules!open("ann");
  Rules?Taken;
  Rules!open("bob");
  Rules?Taken;
  Ask("ann", 70);
  Ask("bob", 90);
  Ask("ann", 50);
  Ask("ann", 30);
  Ask("eve", 1);
  Rules!close("ann");
  Rules?Taken;
  Ask("ann", 5)
END Main;
