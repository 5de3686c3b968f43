//! Decoding control messages from untrusted bytes.

use std::fmt;

use tidemill_relation::{OwnedValue, SeqBuilder};
use tidemill_wire::{DecodeError, Decoder, FieldId, Sink, SinkResult, Stop};

use super::fields::{CONTROL, Fields, UNSUPPORTED};
use super::message::{Control, End, Message, Status};
use crate::net::values::{self, ValueReader};

/// The maximal nesting of messages: that of a value of maximal depth, and four around it.
const DEPTH_MAX: usize = 2 * values::NESTING_MAX + 8;

/// A frame that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(DecodeError);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a control message cannot be read: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

impl Control {
    /// Reads a frame. Fields that are not known are skipped.
    ///
    /// # Errors
    /// The error in the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Control, Malformed> {
        let fields = &*CONTROL;
        let reader = ValueReader::new(&fields.value);
        let mut sink =
            ControlSink { fields, control: Control::default(), reader, in_column: false };
        let decoder = Decoder::new(&fields.schema).depth_max(DEPTH_MAX);
        decoder.decode(fields.control, bytes, &mut sink).map_err(Malformed)?;
        Ok(sink.control)
    }
}

struct ControlSink<'f, 'a> {
    fields: &'f Fields,
    control: Control,
    reader: ValueReader<'f, 'a>,
    /// Inside `Row.columns`, where the reader takes everything.
    in_column: bool,
}

impl ControlSink<'_, '_> {
    /// A member of the oneof begins: another one is replaced, the same goes on.
    fn begin(&mut self, field: FieldId) {
        let fields = self.fields;
        let message = if field == fields.query {
            Message::Query { node: String::new(), text: String::new() }
        } else if field == fields.top {
            Message::Top { costs: false }
        } else if field == fields.install {
            let (node, name, text) = Default::default();
            Message::Install { node, name, text }
        } else if field == fields.uninstall {
            Message::Uninstall { node: String::new(), name: String::new() }
        } else if field == fields.rows {
            Message::Rows(Vec::new())
        } else if field == fields.counters {
            Message::Counters(Vec::new())
        } else if field == fields.text {
            Message::Text(String::new())
        } else if field == fields.end {
            Message::End(End::default())
        } else if let Some(at) = fields.unsupported.iter().position(|&other| other == field) {
            Message::Unsupported(UNSUPPORTED[at])
        } else {
            return;
        };
        let same = |old: &Message| std::mem::discriminant(old) == std::mem::discriminant(&message);
        if !self.control.message.as_ref().is_some_and(same) {
            self.control.message = Some(message);
        }
    }
}

impl<'a> Sink<'a> for ControlSink<'_, 'a> {
    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        if self.in_column {
            return self.reader.start_sub(field);
        }
        match &mut self.control.message {
            Some(Message::Rows(rows)) if field == self.fields.row => rows.push(Vec::new()),
            Some(Message::Rows(_)) if field == self.fields.column => {
                self.in_column = true;
                self.reader.begin();
            }
            Some(Message::Counters(all)) if field == self.fields.counter => {
                all.push((String::new(), 0));
            }
            _ => self.begin(field),
        }
        Ok(())
    }

    fn end_sub(&mut self, field: FieldId) -> SinkResult {
        if field == self.fields.column {
            self.in_column = false;
            let mut value = SeqBuilder::new();
            self.reader.finish().push_to(&mut value);
            let value = value.as_seq().iter().next().map(OwnedValue::new).ok_or(Stop)?;
            if let Some(Message::Rows(rows)) = &mut self.control.message {
                rows.last_mut().ok_or(Stop)?.push(value);
            }
            return Ok(());
        }
        if self.in_column { self.reader.end_sub(field) } else { Ok(()) }
    }

    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        if field == self.fields.id {
            self.control.id = value;
        } else if let Some(Message::Counters(all)) = &mut self.control.message {
            all.last_mut().ok_or(Stop)?.1 = value;
        }
        Ok(())
    }

    fn i32(&mut self, _: FieldId, value: i32) -> SinkResult {
        if let Some(Message::End(end)) = &mut self.control.message {
            end.status = Status::of(value);
        }
        Ok(())
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        self.reader.i64(field, value)
    }

    fn f64(&mut self, _: FieldId, value: f64) -> SinkResult {
        self.reader.f64(value)
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        if self.in_column {
            return self.reader.bool(field, value);
        }
        // Beside columns other requests have them only that are known by name.
        if let Some(Message::Top { costs }) = &mut self.control.message
            && field == self.fields.top_costs
        {
            *costs = value;
        }
        Ok(())
    }

    fn string(&mut self, field: FieldId, piece: &'a str) -> SinkResult {
        if self.in_column {
            return self.reader.string(piece);
        }
        let fields = self.fields;
        let place = match &mut self.control.message {
            Some(Message::Query { node, .. }) if field == fields.query_node => node,
            Some(Message::Query { text, .. }) => text,
            Some(Message::Install { node, .. }) if field == fields.install_node => node,
            Some(Message::Install { name, .. }) if field == fields.install_name => name,
            Some(Message::Install { text, .. }) if field == fields.install_text => text,
            Some(Message::Uninstall { node, .. }) if field == fields.uninstall_node => node,
            Some(Message::Uninstall { name, .. }) if field == fields.uninstall_name => name,
            Some(Message::Counters(all)) => &mut all.last_mut().ok_or(Stop)?.0,
            Some(Message::Text(text)) => text,
            Some(Message::End(end)) if field == fields.end_name => &mut end.name,
            Some(Message::End(end)) => &mut end.reason,
            _ => return Ok(()),
        };
        piece.clone_into(place);
        Ok(())
    }

    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        if self.in_column { self.reader.bytes(field, piece) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use tidemill_relation::Value;

    use super::super::{append_row, install, part, query, uninstall};
    use super::*;

    #[test]
    fn requests_of_other_versions_keep_their_number() {
        // Field 4 is `inject`, field 9 no version has yet.
        for (field, name) in [(4, Some("inject")), (7, Some("why")), (9, None)] {
            let mut bytes = part(12);
            bytes.extend([field << 3 | 2, 3, 0x0a, 1, b'n']);
            let control = Control::decode(&bytes).unwrap();
            assert_eq!(control.id, 12);
            assert_eq!(control.message.and_then(|message| message.request()), name);
        }
    }

    #[test]
    fn rules_come_as_they_were_sent() {
        let (node, name) = ("n0:1".to_owned(), "a.olg".to_owned());
        let text = "a(@N) :- b(@N).".to_owned();
        let sent = Control::decode(&install(7, &node, &name, &text)).unwrap();
        let message = Message::Install { node: node.clone(), name: name.clone(), text };
        assert_eq!(sent, Control { id: 7, message: Some(message) });
        let sent = Control::decode(&uninstall(8, &node, &name)).unwrap();
        assert_eq!(sent, Control { id: 8, message: Some(Message::Uninstall { node, name }) });
    }

    #[test]
    fn the_last_member_counts() {
        let mut bytes = part(1);
        append_row(&mut bytes, [Value::Int(1)].into_iter());
        bytes.extend(query(2, "n", "t"));
        let control = Control::decode(&bytes).unwrap();
        let message = Message::Query { node: "n".to_owned(), text: "t".to_owned() };
        assert_eq!(control, Control { id: 2, message: Some(message) });
        bytes.extend(part(3));
        append_row(&mut bytes, [].into_iter());
        assert_eq!(Control::decode(&bytes).unwrap().message, Some(Message::Rows(vec![vec![]])));
    }

    #[test]
    fn what_is_cut_off_or_nests_without_end_is_refused() {
        let whole = query(300, "n0:1", "edge");
        for length in 1..whole.len() {
            let cut = Control::decode(&whole[..length]);
            assert!(cut.is_err() || length <= 3, "only whole fields are read: {length}");
        }
        // List in list in list.
        let mut nested = Vec::new();
        for _ in 0..1000 {
            let mut around = Vec::new();
            for tag in [0x0a, 0x4a] {
                let inner = if around.is_empty() { &nested } else { &around };
                let mut outer = vec![tag];
                put_varint(&mut outer, inner.len());
                outer.extend_from_slice(inner);
                around = outer;
            }
            nested = around;
        }
        for tag in [0x0a, 0x0a, 0x82] {
            let mut outer = vec![tag];
            outer.extend((tag == 0x82).then_some(1));
            put_varint(&mut outer, nested.len());
            outer.extend_from_slice(&nested);
            nested = outer;
        }
        assert!(Control::decode(&nested).is_err());
        assert!(Control::decode(b"\x12\x03\x12\x01\xff").is_err(), "no text");
        assert!(Control::decode(b"\x82\x01\x07\x0a\x05\x0a\x03\x32\x01x").is_err(), "no ID");
    }

    fn put_varint(out: &mut Vec<u8>, mut value: usize) {
        while value > 127 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }
}
