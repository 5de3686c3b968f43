//! The shape of a failure: the rule, and the derived tuple without the parts that vary.

use std::fmt::Write;

use tidemill_relation::text::parse_tuple;
use tidemill_relation::{OwnedValue, Value};
use tidemill_stdx::sorted::SortedMap;

use crate::history;
use crate::identities::number;

/// The line that names the failure: the cause that the run recorded, else its first note.
pub(super) fn cause(of_run: Option<String>, notes: &[String]) -> String {
    let first = || notes.iter().find(|note| !note.starts_with(' ')).cloned();
    of_run.or_else(first).unwrap_or_default()
}

/// The shape of a failure, by the line that names it.
///
/// Nodes become letters in the order of their appearance, other varying parts `_`: `violation(A, B,
/// _) (rule p2)`. Of faults and expectations the place and the kind remain, of histories the kind.
pub(super) fn of(line: &str) -> String {
    let of_history = || history::kind_of_failure(line);
    let of_tuple = || line.strip_prefix("tidemill: ").and_then(of_tuple);
    of_history().or_else(of_tuple).unwrap_or_else(|| of_place(line))
}

/// The shape of `TIME NODE: TUPLE REST`.
fn of_tuple(line: &str) -> Option<String> {
    let (place, rest) = line.split_once(": ")?;
    let (_, node) = place.split_once(' ')?;
    let end = rest.rfind(')').map(|_| closing(rest))??;
    let (name, columns) = parse_tuple(&rest[..=end]).ok()?;
    let mut nodes = Nodes::default();
    let mut shape = format!("{name}(");
    if columns.first().map(OwnedValue::get).and_then(|it| it.as_str().map(str::to_owned)).as_deref()
        != Some(node)
    {
        nodes.letter(node);
    }
    for (number, column) in columns.iter().enumerate() {
        shape.push_str(if number > 0 { ", " } else { "" });
        nodes.push(&mut shape, column.get());
    }
    shape.push(')');
    let rest = rest[end + 1..].trim();
    if rest.starts_with("(rule ") {
        // Writing to a string cannot fail.
        let _ = write!(shape, " {rest}");
    }
    Some(shape)
}

/// The end of the tuple with which a text begins.
fn closing(text: &str) -> Option<usize> {
    let (mut inside, mut escaped, mut depth) = (false, false, 0);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            '(' if !inside => depth += 1,
            ')' if !inside => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The shape of `FILE:LINE:COLUMN: error[CODE]: ...`: all up to the code.
fn of_place(line: &str) -> String {
    line.find("]: ").map_or(line, |end| &line[..=end]).to_owned()
}

/// Letters of nodes, by address.
#[derive(Default)]
struct Nodes(SortedMap<String, char>);

impl Nodes {
    fn letter(&mut self, address: &str) -> char {
        let next = u8::try_from(self.0.len()).map_or('Z', |count| (b'A' + count.min(25)) as char);
        *self.0.entry(address.to_owned()).or_insert(next)
    }

    fn push(&mut self, shape: &mut String, value: Value<'_>) {
        match value {
            Value::Str("SIM") => shape.push_str("SIM"),
            Value::Str(text) if number(text).is_some() => shape.push(self.letter(text)),
            Value::Bool(truth) => shape.push_str(if truth { "true" } else { "false" }),
            Value::Null => shape.push_str("null"),
            _ => shape.push('_'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let cases = [
            (
                "tidemill: 7.197298 n0:1: violation(\"n0:1\", \"n1:1\", \"n0:1\", 35) (rule p2)",
                "violation(A, B, A, _) (rule p2)",
            ),
            (
                "tidemill: 7.1 SIM: violation(\"SIM\", \"n3:1\", \"n1:1\", \"a) b\") (rule g)",
                "violation(SIM, A, B, _) (rule g)",
            ),
            (
                "tidemill: 40.000000 n2:1: unsettled(\"n2:1\", [1, 2]) since 3.000000",
                "unsettled(A, _)",
            ),
            ("a.sim:5:1: error[expect]: 0 rows of n1:1 fit", "a.sim:5:1: error[expect]"),
            ("panicked: no", "panicked: no"),
            (
                "tidemill: kv history: no order of these operations of key 3 has their results, \
                 wherever the 51 others are placed",
                "kv history: no order has the results",
            ),
            (
                "tidemill: kv history: 1.0s..2.0s n1:1 7: pop 12 -> 3: kv has no pop 12",
                "kv history: an operation that cannot be checked",
            ),
        ];
        for (note, expected) in cases {
            assert_eq!(of(note), expected);
        }
        assert_eq!(of(""), "");
    }

    #[test]
    fn a_note_that_fails_no_run_is_not_the_cause() {
        let notes = ["  before", "a.sim:2:1: node 1 is not there to get it", "violation"];
        let notes = notes.map(str::to_owned);
        assert_eq!(cause(Some(notes[2].clone()), &notes), "violation");
        assert_eq!(cause(None, &notes), notes[1]);
        assert_eq!(cause(None, &[]), "");
    }
}
