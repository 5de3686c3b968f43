//! Whose connection this is: the first frame of each says what address its node answers at.
//!
//! The far end of a connection shows only a port that the system made up for it, while peers know
//! each other by the addresses they listen at. So the side that connects begins with an envelope
//! whose one tuple is `sys::peer(Address)`, by name. Who does not greet is heard all the same, as
//! someone who cannot be answered; to who does not know greetings it is one more unknown relation.

use tidemill_fabric::head::Head;
use tidemill_relation::Value;

use super::envelope::{self, Content, Envelope};

/// The relation of a greeting.
const RELATION: &str = "sys::peer";

/// The envelope with which a node of that address and program begins.
pub fn greeting(address: &str, program: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Head { program, ..Head::default() }.append(&mut bytes);
    let columns = &[Value::Str(address)];
    envelope::append_tuple(&mut bytes, Content::Columns { name: RELATION, columns }, false);
    bytes
}

/// The address in an envelope that is a greeting.
pub fn greeter(bytes: &[u8]) -> Option<String> {
    let envelope = Envelope::decode(bytes).ok()?;
    let [tuple] = &envelope.tuples[..] else { return None };
    let mut columns = tuple.columns.as_seq().iter();
    let address = columns.next().and_then(|column| Some(column.as_str()?.to_owned()))?;
    let is_greeting = tuple.relation == 0
        && tuple.name == RELATION
        && columns.next().is_none()
        && crate::node::is_address(&address);
    is_greeting.then_some(address)
}

/// True if an envelope asks for an acknowledgement, which goes to the sender's address.
pub fn wants_answer(bytes: &[u8]) -> bool {
    Head::decode(bytes).is_ok_and(|head| head.ack.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_tells_the_address() {
        assert_eq!(greeter(&greeting("localhost:10000", 7)).as_deref(), Some("localhost:10000"));
    }

    #[test]
    fn other_envelopes_are_no_greetings() {
        let envelope = |name: &str, columns: &[Value<'_>]| {
            let mut bytes = Vec::new();
            envelope::append_tuple(&mut bytes, Content::Columns { name, columns }, false);
            bytes
        };
        assert_eq!(greeter(&envelope("ping", &[Value::Str("a:1")])), None);
        assert_eq!(greeter(&envelope(RELATION, &[Value::Int(1)])), None);
        assert_eq!(greeter(&envelope(RELATION, &[Value::Str("nobody")])), None);
        assert_eq!(greeter(&envelope(RELATION, &[Value::Str("a:1"), Value::Null])), None);
        assert_eq!(greeter(&envelope(RELATION, &[])), None);
        assert_eq!(greeter(b"no envelope"), None);
        assert_eq!(greeter(&[]), None);
    }
}
