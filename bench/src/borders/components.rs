//! Programs whose component sends to rules and schemas, or receives from rules.

use super::load::{A, B, MODULUS, SCHEMA, Size, sums};

/// The sum of all payloads.
pub fn total(size: Size) -> String {
    size.payloads().sum::<u64>().to_string()
}

/// The text of a component with the numbers of the size and of payloads inserted.
pub fn sized(text: &str, size: Size) -> String {
    let seed = size.seed % MODULUS;
    let value = format!("((round * {A} + place * {B} + {seed}) MOD {MODULUS})");
    text.replace("PAYLOAD", &value)
        .replace("BATCH", &size.batch.to_string())
        .replace("ROUNDS", &size.rounds.to_string())
}

const SENDER: &str = "
INTERFACE Rules;
  { ( IN sample(round, place, value: INTEGER; room: TEXT) | IN finish ) OUT Taken
  | IN Next
    ( OUT last(change: CHARACTER; value: INTEGER)
    | OUT final(change: CHARACTER; total: INTEGER)
    | OUT End ) }
END Rules;

COMPONENT Main REQUIRES Rules;
  VARIABLE round, place, value, total: INTEGER; change: CHARACTER;
BEGIN
  FOR round := 0 TO ROUNDS - 1 DO
    FOR place := 1 TO BATCH DO
      Rules!sample(round, place, PAYLOAD, \"room\"); Rules?Taken
    END;
    Rules!Next; Rules?last(change, value)
  END;
  Rules!finish; Rules?Taken;
  Rules!Next; Rules?final(change, total);
  WRITE(total); WRITELINE
END Main;
";

pub fn send(size: Size) -> Vec<(&'static str, String)> {
    let rules = format!(
        "s seen(@N, K, A + V) :- sample(@N, S, K, V, Room), seen(@N, K, A).
        l last(@N, V) :- sample(@N, S, K, V, Room), K == {}.
        {}",
        size.batch,
        sums(size)
    );
    vec![("a.olg", rules), ("a.com", sized(SENDER, size))]
}

const LISTENER: &str = "
INTERFACE Rules;
  { IN ask(round: INTEGER) OUT Taken
  | IN Next ( OUT told(change: CHARACTER; place, value: INTEGER; room: TEXT) | OUT End ) }
END Rules;

COMPONENT Main REQUIRES Rules;
  VARIABLE round, i, place, value, total: INTEGER; change: CHARACTER; room: TEXT;
BEGIN
  FOR round := 0 TO ROUNDS - 1 DO
    Rules!ask(round); Rules?Taken;
    FOR i := 1 TO BATCH DO
      Rules!Next; Rules?told(change, place, value, room); INC(total, value)
    END
  END;
  WRITE(total); WRITELINE
END Main;
";

pub fn next(size: Size) -> Vec<(&'static str, String)> {
    let mut rules = format!(
        "materialize(item, infinity, infinity, keys(2)).
        t told(@N, K, V, \"room\") :- ask(@N, S), item(@N, K),
            V := {}.\n",
        size.of_rules()
    );
    (1..=size.batch).for_each(|place| rules += &format!("item(@NODE, {place}).\n"));
    vec![("a.olg", rules), ("a.com", sized(LISTENER, size))]
}

/// Sets a field and reads it again: two crossings, of which every second is counted.
const HOLDER: &str = "
COMPONENT Main REQUIRES Messages;
  VARIABLE round, place, value, total: INTEGER;
BEGIN
  Messages!New(\"p.Reading\"); Messages?Done;
  FOR round := 0 TO ROUNDS - 1 DO
    FOR place := 1 TO BATCH DO
      Messages!SetInteger(\"device\", PAYLOAD); Messages?Done;
      Messages!GetInteger(\"device\"); Messages?Integer(value);
      INC(total, value)
    END
  END;
  WRITE(total); WRITELINE
END Main;
";

pub fn messages(size: Size) -> Vec<(&'static str, String)> {
    vec![("a.com", sized(HOLDER, size)), ("a.proto", SCHEMA.to_owned())]
}
