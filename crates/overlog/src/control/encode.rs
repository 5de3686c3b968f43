//! Control messages as bytes.

use tidemill_relation::Value;
use tidemill_wire::{Writer, encode};

use super::fields::{CONTROL, Fields};
use super::message::End;
use crate::net::values;

fn message(id: u64, put: impl Fn(&mut Writer<'_>, &Fields)) -> Vec<u8> {
    let mut out = part(id);
    encode::append(&CONTROL.schema, &mut out, |to| put(to, &CONTROL));
    out
}

/// The beginning of every message, to which [`append_row`] may add rows.
pub fn part(id: u64) -> Vec<u8> {
    encode::to_vec(&CONTROL.schema, |to| to.put_u64(CONTROL.id, id))
}

/// A request for rows.
pub fn query(id: u64, node: &str, text: &str) -> Vec<u8> {
    message(id, |to, fields| {
        to.put_message(fields.query, |to| {
            to.put_string(fields.query_node, node);
            to.put_string(fields.query_text, text);
        });
    })
}

/// A request to add rules.
pub fn install(id: u64, node: &str, name: &str, text: &str) -> Vec<u8> {
    message(id, |to, fields| {
        to.put_message(fields.install, |to| {
            to.put_string(fields.install_node, node);
            to.put_string(fields.install_name, name);
            to.put_string(fields.install_text, text);
        });
    })
}

/// A request to remove rules.
pub fn uninstall(id: u64, node: &str, name: &str) -> Vec<u8> {
    message(id, |to, fields| {
        to.put_message(fields.uninstall, |to| {
            to.put_string(fields.uninstall_node, node);
            to.put_string(fields.uninstall_name, name);
        });
    })
}

/// A request for counters and the component tree.
pub fn top(id: u64) -> Vec<u8> {
    message(id, |to, fields| to.put_message(fields.top, |_| {}))
}

/// The same, with the costs of rules.
pub fn top_of_costs(id: u64) -> Vec<u8> {
    message(id, |to, fields| {
        to.put_message(fields.top, |to| to.put_bool(fields.top_costs, true));
    })
}

/// True if no column of a row nests deeper than a decoder follows.
pub fn row_fits<'v>(mut row: impl Iterator<Item = Value<'v>>) -> bool {
    row.all(values::fits)
}

/// Appends a row, which [`row_fits`], to a part of an answer. A message that comes twice is merged
/// with the first, so each row is a message of its own.
pub fn append_row<'v>(out: &mut Vec<u8>, row: impl Iterator<Item = Value<'v>> + Clone) {
    let fields = &*CONTROL;
    encode::append(&fields.schema, out, |to| {
        to.put_message(fields.rows, |to| {
            to.put_message(fields.row, |to| {
                for value in row.clone() {
                    let put = |to: &mut Writer<'_>| values::put(to, &fields.value, value);
                    to.put_message(fields.column, put);
                }
            });
        });
    });
}

/// A part of an answer: counters.
pub fn counters(id: u64, counters: &[(String, u64)]) -> Vec<u8> {
    message(id, |to, fields| {
        to.put_message(fields.counters, |to| {
            for (name, value) in counters {
                to.put_message(fields.counter, |to| {
                    to.put_string(fields.counter_name, name);
                    to.put_u64(fields.counter_value, *value);
                });
            }
        });
    })
}

/// A part of an answer: text.
pub fn text(id: u64, text: &str) -> Vec<u8> {
    message(id, |to, fields| {
        to.put_message(fields.text, |to| to.put_string(fields.text_text, text));
    })
}

/// The end of an answer.
pub fn end(id: u64, end: &End) -> Vec<u8> {
    message(id, |to, fields| {
        to.put_message(fields.end, |to| {
            to.put_i32(fields.end_status, end.status.number());
            to.put_string(fields.end_name, &end.name);
            to.put_string(fields.end_reason, &end.reason);
        });
    })
}

#[cfg(test)]
mod tests {
    use tidemill_relation::OwnedValue;

    use super::super::{Control, Message, Status};
    use super::*;

    fn decode(bytes: &[u8]) -> (u64, Option<Message>) {
        let Control { id, message } = Control::decode(bytes).unwrap();
        (id, message)
    }

    #[test]
    fn messages_come_back() {
        let query_of = |node: &str| Message::Query { node: node.into(), text: "edge".into() };
        assert_eq!(decode(&query(7, "n0:1", "edge")), (7, Some(query_of("n0:1"))));
        assert_eq!(decode(&top(u64::MAX)), (u64::MAX, Some(Message::Top { costs: false })));
        assert_eq!(decode(&top_of_costs(3)), (3, Some(Message::Top { costs: true })));
        let counted = vec![("node/a/turns".to_owned(), 3), ("x".to_owned(), u64::MAX)];
        assert_eq!(decode(&counters(1, &counted)), (1, Some(Message::Counters(counted))));
        assert_eq!(decode(&text(0, "a tree")), (0, Some(Message::Text("a tree".to_owned()))));
        for status in Status::ALL {
            let one = End { status, name: "edge".to_owned(), reason: "why".to_owned() };
            assert_eq!(decode(&end(2, &one)), (2, Some(Message::End(one))));
        }
        assert_eq!(decode(&[]), (0, None));
    }

    #[test]
    fn rows_are_appended_one_by_one() {
        let mut bytes = part(9);
        let rows = [vec![Value::Int(-1), Value::Str("x")], vec![], vec![Value::Null]];
        rows.iter().for_each(|row| append_row(&mut bytes, row.iter().copied()));
        let owned = |row: &Vec<Value<'_>>| row.iter().copied().map(OwnedValue::new).collect();
        let expected: Vec<Vec<OwnedValue>> = rows.iter().map(owned).collect();
        assert_eq!(decode(&bytes), (9, Some(Message::Rows(expected))));
    }
}
