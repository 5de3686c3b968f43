//! The messages of queries, as envelopes.

use tidemill_relation::{OwnedValue, Value};

use crate::net::envelope::{Content, Envelope, append_tuple};
use crate::net::values;

/// Bytes that a datagram of an answer has at most, but for a single long row.
pub const DATAGRAM_BYTES: usize = 1200;
/// Bytes that a single row may take: what fits into a UDP datagram.
pub const ROW_BYTES_MAX: usize = 60_000;
/// Bytes that the text of a query may have.
pub const TEXT_BYTES_MAX: usize = 32_000;

const QUERY: &str = "sys::query";
const ANSWER: &str = "sys::answer";
const ANSWER_END: &str = "sys::answerEnd";

/// A question, or the demand for the rest of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// The node, as the asker calls it.
    pub node: String,
    /// Tells the questions of one asker apart.
    pub id: i64,
    /// A table or a rule.
    pub text: String,
    /// The first part that is wanted, from 0.
    pub first: u32,
}

/// What a node answers with.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// Rows of one part.
    Rows {
        /// The question's number.
        id: i64,
        /// Which part, from 0.
        part: u32,
        /// Its rows.
        rows: Vec<Vec<OwnedValue>>,
    },
    /// What the answer amounts to.
    End {
        /// The question's number.
        id: i64,
        /// How many parts there are.
        parts: u32,
        /// The name of the table or head.
        name: String,
        /// Why there is no answer.
        error: Option<String>,
    },
}

/// True if a datagram is a query: one tuple, and nothing before it, in the order of the fields.
///
/// Looks at a few bytes only, for it is asked of every datagram.
pub fn is_query(datagram: &[u8]) -> bool {
    const TUPLES: u8 = 3 << 3 | 2;
    const NAME: u8 = 4 << 3 | 2;
    if datagram.first() != Some(&TUPLES) {
        return false;
    }
    // The tuple's length takes up to three bytes here.
    (2..=4).any(|at| {
        let ends = datagram.get(at - 1).is_some_and(|byte| byte & 0x80 == 0);
        let name =
            datagram.get(at..).and_then(|rest| rest.strip_prefix(&[NAME, QUERY.len() as u8]));
        ends && name.is_some_and(|rest| rest.starts_with(QUERY.as_bytes()))
    })
}

impl Query {
    /// The datagram.
    pub fn encode(&self) -> Vec<u8> {
        let columns = [
            Value::Str(&self.node),
            Value::Int(self.id),
            Value::Str(&self.text),
            Value::Int(self.first.into()),
        ];
        let mut out = Vec::new();
        append_tuple(&mut out, Content::Columns { name: QUERY, columns: &columns }, false);
        out
    }

    /// Reads a datagram that [`is_query`]; `None` if it is malformed.
    pub fn decode(datagram: &[u8]) -> Option<Query> {
        let envelope = Envelope::decode(datagram).ok()?;
        let [tuple] = envelope.tuples.as_slice() else { return None };
        let mut columns = tuple.columns.as_seq().iter();
        let (node, id) = (columns.next()?.as_str()?, columns.next()?.as_int()?);
        let (text, first) = (columns.next()?.as_str()?, columns.next()?.as_int()?);
        let well = tuple.name == QUERY && columns.next().is_none() && text.len() <= TEXT_BYTES_MAX;
        let first = u32::try_from(first).ok().filter(|_| well)?;
        Some(Query { node: node.to_owned(), id, text: text.to_owned(), first })
    }
}

impl Reply {
    /// Reads a datagram; `None` if it is no reply.
    pub fn decode(datagram: &[u8]) -> Option<Reply> {
        let envelope = Envelope::decode(datagram).ok()?;
        let mut reply = None;
        for tuple in &envelope.tuples {
            let mut columns = tuple.columns.as_seq().iter();
            let (_asker, id) = (columns.next()?, columns.next()?.as_int()?);
            let number = u32::try_from(columns.next()?.as_int()?).ok()?;
            match tuple.name {
                ANSWER => {
                    let empty = Reply::Rows { id, part: number, rows: Vec::new() };
                    let Reply::Rows { id: one, part, rows } = reply.get_or_insert(empty) else {
                        return None;
                    };
                    if (*one, *part) != (id, number) {
                        return None;
                    }
                    rows.push(columns.map(OwnedValue::new).collect());
                }
                ANSWER_END => {
                    let name = columns.next()?.as_str()?.to_owned();
                    let error = columns.next()?.as_str().map(str::to_owned);
                    return Some(Reply::End { id, parts: number, name, error });
                }
                _ => return None,
            }
        }
        reply
    }
}

/// The end of an answer as a datagram.
pub(super) fn encode_end(
    asker: &str,
    id: i64,
    parts: u32,
    name: &str,
    error: Option<&str>,
) -> Vec<u8> {
    let error = error.map_or(Value::Null, Value::Str);
    let columns =
        [Value::Str(asker), Value::Int(id), Value::Int(parts.into()), Value::Str(name), error];
    let mut out = Vec::new();
    append_tuple(&mut out, Content::Columns { name: ANSWER_END, columns: &columns }, false);
    out
}

/// Cuts rows into the datagrams of an answer.
#[derive(Debug)]
pub(super) struct Cutter {
    asker: String,
    id: i64,
    parts: Vec<Vec<u8>>,
    row: Vec<u8>,
}

impl Cutter {
    pub(super) fn new(asker: &str, id: i64) -> Cutter {
        Cutter { asker: asker.to_owned(), id, parts: Vec::new(), row: Vec::new() }
    }

    /// Appends a row; false if it is too long to be sent.
    pub(super) fn push<'v>(&mut self, row: impl Iterator<Item = Value<'v>>) -> bool {
        let row: Vec<Value<'v>> = row.collect();
        let current = self.parts.len().saturating_sub(1);
        if !self.fits(&row, current as u32) {
            return false;
        }
        let room = self.parts.last().is_some_and(|part| {
            // A part never mixes with the next, so that each datagram stands by itself.
            part.len() + self.row.len() <= DATAGRAM_BYTES
        });
        if !room {
            // The number of the part is in the row.
            self.fits(&row, self.parts.len() as u32);
            self.parts.push(Vec::new());
        }
        if let Some(part) = self.parts.last_mut() {
            part.extend_from_slice(&self.row);
        }
        true
    }

    /// Encodes a row of a part; false if it is too long.
    fn fits(&mut self, row: &[Value<'_>], part: u32) -> bool {
        if !row.iter().all(|&value| values::fits(value)) {
            return false;
        }
        let mut columns =
            vec![Value::Str(&self.asker), Value::Int(self.id), Value::Int(part.into())];
        columns.extend_from_slice(row);
        self.row.clear();
        let content = Content::Columns { name: ANSWER, columns: &columns };
        append_tuple(&mut self.row, content, false);
        self.row.len() <= ROW_BYTES_MAX
    }

    /// The datagrams.
    pub(super) fn finish(self) -> Vec<Vec<u8>> {
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_fabric::head::Head;

    fn query(text: &str) -> Query {
        Query { node: "localhost:10000".to_owned(), id: 7, text: text.to_owned(), first: 3 }
    }

    #[test]
    fn queries_are_told_from_other_datagrams() {
        for length in [0, 100, 120, 10_000, 30_000] {
            let query = query(&"x".repeat(length));
            let bytes = query.encode();
            assert!(is_query(&bytes), "{length}");
            assert_eq!(Query::decode(&bytes), Some(query));
        }
        let mut other = Vec::new();
        Head { program: 1, ..Head::default() }.append(&mut other);
        other.extend(query("x").encode());
        assert!(!is_query(&other) && !is_query(b"") && !is_query(b"\x1a"));
    }

    #[test]
    fn rows_are_cut_into_datagrams_that_stand_by_themselves() {
        let mut cutter = Cutter::new("localhost:9", 5);
        for number in 0..200 {
            assert!(cutter.push([Value::Int(number), Value::Str("text")].into_iter()));
        }
        assert!(cutter.push([Value::Str(&"y".repeat(5000))].into_iter()));
        assert!(!cutter.push([Value::Str(&"y".repeat(100_000))].into_iter()));
        let parts = cutter.finish();
        let mut seen = 0;
        for (number, part) in (0..).zip(&parts) {
            let Some(Reply::Rows { id: 5, part, rows }) = Reply::decode(part) else {
                panic!("rows")
            };
            assert_eq!(part, number);
            assert!(!rows.is_empty());
            seen += rows.len();
        }
        assert_eq!(seen, 201);
        assert!(parts.iter().filter(|part| part.len() > DATAGRAM_BYTES).count() == 1);
    }

    #[test]
    fn the_end_says_what_there_is() {
        let bytes = encode_end("localhost:9", 5, 12, "succ", Some("no such table"));
        let end = Reply::End {
            id: 5,
            parts: 12,
            name: "succ".to_owned(),
            error: Some("no such table".to_owned()),
        };
        assert_eq!(Reply::decode(&bytes), Some(end));
    }

    #[test]
    fn hostile_datagrams_are_no_queries_and_no_replies() {
        let bytes = query("successor").encode();
        for length in 0..bytes.len() {
            assert_eq!(Query::decode(&bytes[..length]), None);
            assert_eq!(Reply::decode(&bytes[..length]), None);
        }
    }
}
