//! Events into JSON.
//!
//! Text is written as events come: a key at the first element of a list, a bracket at the first
//! field that is another. Events that cannot be written that way are detected and refused
//! ([`WriteProblem::NeedsMerge`]): a list that continues after other fields, a value that comes
//! twice, a second member of a oneof, an entry of a map without order. Such messages are legal, if
//! rare; they go through a message in memory first, which gives events merged.
//!
//! ```text
//! bytes --decoder--> JsonSink --> text
//!            '--needs merge--> message in memory --walk--> JsonSink --> text
//! ```

use super::any;
use super::names::{Cardinality, MessageForm, ValueForm};
use super::options::{Defaults, Unknown};
use super::print;
use super::sink::{Frame, JsonSink};
use super::time;
use crate::schema::{FieldId, Label, MessageId};
use crate::sink::Sink;
use crate::stop::{SinkResult, Stop};

/// The maximal nesting of messages inside `Any`.
const ANY_DEPTH_MAX: usize = 100;

impl JsonSink<'_, '_> {
    /// Ends the message that is open.
    pub(super) fn close(&mut self) -> SinkResult {
        match self.top.shape {
            MessageForm::Plain => {
                self.close_list();
                if self.options.defaults == Defaults::Print {
                    self.write_absent()?;
                }
                self.out.push(b'}');
                self.seen.truncate(self.top.seen as usize);
                Ok(())
            }
            MessageForm::Entry => self.close_entry(),
            MessageForm::Struct => {
                self.out.push(b'}');
                Ok(())
            }
            MessageForm::ListValue => {
                self.out.push(b']');
                Ok(())
            }
            MessageForm::FieldMask => {
                self.out.push(b'"');
                Ok(())
            }
            MessageForm::Value if self.top.done => Ok(()),
            MessageForm::Value => Err(self.refuse("a Value without a value has no JSON")),
            MessageForm::Wrapper if self.top.done => Ok(()),
            MessageForm::Wrapper => self.write_default_of(1),
            MessageForm::Timestamp | MessageForm::Duration => self.close_time(),
            MessageForm::Any => self.close_any(),
        }
    }

    fn close_time(&mut self) -> SinkResult {
        let Frame { seconds, nanos, .. } = self.top;
        self.out.push(b'"');
        let written = match self.top.shape {
            MessageForm::Timestamp => time::write_timestamp(&mut self.out, seconds, nanos),
            _ => time::write_duration(&mut self.out, seconds, nanos),
        };
        self.out.push(b'"');
        let name = self.mapping.schema.full_name(self.top.message);
        written.ok_or_else(|| self.refuse(format!("a {name} is out of range")))
    }

    fn close_entry(&mut self) -> SinkResult {
        if !self.top.comma {
            self.write_default_key()?;
        }
        if self.top.done {
            return Ok(());
        }
        self.out.push(b':');
        self.top.done = true;
        self.write_default_of(2)
    }

    /// Writes the default of a field, bare.
    fn write_default_of(&mut self, number: u32) -> SinkResult {
        let field = self.mapping.schema.field_by_number(self.top.message, number).ok_or(Stop)?;
        self.write_default(field)
    }

    fn write_default(&mut self, field: FieldId) -> SinkResult {
        match self.mapping.field(field).kind {
            ValueForm::Int64 | ValueForm::Uint64 => self.out.extend_from_slice(b"\"0\""),
            ValueForm::Int32 | ValueForm::Uint32 | ValueForm::Double | ValueForm::Float => {
                self.out.push(b'0')
            }
            ValueForm::Bool => self.out.extend_from_slice(b"false"),
            ValueForm::String | ValueForm::Bytes => self.out.extend_from_slice(b"\"\""),
            ValueForm::Null => self.out.extend_from_slice(b"null"),
            ValueForm::Enum(id) => {
                let first = self.mapping.schema.enum_def(id).values().first();
                self.write_enum(field, first.map_or(0, |value| value.number()));
            }
            ValueForm::Message(message) => {
                let outside = self.top;
                self.frames.push(outside);
                self.open(message);
                self.close()?;
                self.frames.pop();
                self.top = outside;
            }
        }
        Ok(())
    }

    /// Writes the absent fields without presence.
    fn write_absent(&mut self) -> SinkResult {
        let mapping = self.mapping;
        for &field in mapping.schema.message(self.top.message).fields() {
            let map = mapping.field(field);
            let word = self.seen.get(self.top.seen as usize + (map.seen / 64) as usize);
            let absent = word.is_some_and(|word| word >> (map.seen % 64) & 1 == 0);
            let label = mapping.schema.wire_field(field).label;
            if !absent || !matches!(label, Label::Implicit | Label::Repeated) {
                continue;
            }
            self.begin(field)?;
            match map.list {
                Cardinality::Single => self.write_default(field)?,
                Cardinality::Repeated | Cardinality::Map => self.close_list(),
            }
        }
        Ok(())
    }

    /// Writes the message inside of an `Any`.
    fn close_any(&mut self) -> SinkResult {
        let any = self.anys.pop().unwrap_or_default();
        if any.type_url.is_empty() && any.value.is_empty() {
            self.out.extend_from_slice(b"{}");
            return Ok(());
        }
        if self.frames.len() >= ANY_DEPTH_MAX {
            return Err(self.refuse("messages nest too deep"));
        }
        any::write(self, &any)
    }

    /// Ends the message inside of an `Any`.
    pub(super) fn close_in_any(&mut self) -> SinkResult {
        let special = self.top.shape.is_special();
        self.close()?;
        if special {
            self.out.push(b'}');
        }
        self.top = self.frames.pop().ok_or(Stop)?;
        Ok(())
    }
}

impl<'a> Sink<'a> for JsonSink<'_, '_> {
    fn start_message(&mut self, message: MessageId) -> SinkResult {
        self.reset();
        self.open(message);
        if self.top.shape == MessageForm::Entry {
            // An entry has no braces outside of its map.
            return Err(self.refuse("an entry of a map has no JSON of its own"));
        }
        Ok(())
    }

    fn end_message(&mut self, _: MessageId) -> SinkResult {
        self.close()
    }

    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        self.begin(field)?;
        let ValueForm::Message(message) = self.mapping.field(field).kind else { return Err(Stop) };
        self.frames.push(self.top);
        self.open(message);
        Ok(())
    }

    fn end_sub(&mut self, _: FieldId) -> SinkResult {
        self.close()?;
        self.top = self.frames.pop().ok_or(Stop)?;
        Ok(())
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        if matches!(self.top.shape, MessageForm::Timestamp | MessageForm::Duration) {
            self.top.seconds = value;
            return Ok(());
        }
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        let number = |out: &mut Vec<u8>| print::integer(out, value);
        self.scalar(field, number, |out| print::quoted_integer(out, value))
    }

    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        let number = |out: &mut Vec<u8>| print::integer(out, value);
        self.scalar(field, number, |out| print::quoted_integer(out, value))
    }

    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        if self.mapping.field(field).kind == ValueForm::Int32 {
            if matches!(self.top.shape, MessageForm::Timestamp | MessageForm::Duration) {
                self.top.nanos = value;
                return Ok(());
            }
            let number = |out: &mut Vec<u8>| print::integer(out, value);
            return self.scalar(field, number, number);
        }
        self.begin(field)?;
        self.write_enum(field, value);
        Ok(())
    }

    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        let number = |out: &mut Vec<u8>| print::integer(out, value);
        self.scalar(field, number, number)
    }

    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        self.finite(value)?;
        // Minus zero counts as present.
        if value.to_bits() == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.begin(field)?;
        print::double(&mut self.out, value);
        Ok(())
    }

    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        if value.to_bits() == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.begin(field)?;
        print::float(&mut self.out, value);
        Ok(())
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        if !value && self.is_absent(field)? {
            return Ok(());
        }
        let text: &[u8] = if value { b"true" } else { b"false" };
        let write = |out: &mut Vec<u8>| out.extend_from_slice(text);
        self.scalar(field, write, write)
    }

    fn start_string(&mut self, field: FieldId, length: usize) -> SinkResult {
        self.absent = length == 0 && self.is_absent(field)?;
        match self.top.shape {
            _ if self.absent => {}
            MessageForm::FieldMask => self.text.clear(),
            MessageForm::Any => {
                if let Some(any) = self.anys.last_mut() {
                    any.type_url.clear();
                }
            }
            MessageForm::Entry if self.is_key(field) => self.text.clear(),
            _ => {
                self.begin(field)?;
                self.out.push(b'"');
            }
        }
        Ok(())
    }

    fn string(&mut self, field: FieldId, piece: &'a str) -> SinkResult {
        match self.top.shape {
            MessageForm::FieldMask => self.text.extend_from_slice(piece.as_bytes()),
            MessageForm::Any => {
                if let Some(any) = self.anys.last_mut() {
                    any.type_url.extend_from_slice(piece.as_bytes());
                }
            }
            MessageForm::Entry if self.is_key(field) => print::escape(&mut self.text, piece),
            _ => print::escape(&mut self.out, piece),
        }
        Ok(())
    }

    fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        match crate::utf8::text(piece) {
            Ok(text) => self.string(field, text),
            Err(_) => Err(self.no_utf8(field)),
        }
    }

    fn end_string(&mut self, field: FieldId) -> SinkResult {
        match self.top.shape {
            _ if self.absent => Ok(()),
            MessageForm::FieldMask => {
                if std::mem::replace(&mut self.top.comma, true) {
                    self.out.push(b',');
                }
                let path = String::from_utf8_lossy(&self.text);
                let written = time::write_path(&mut self.out, &path);
                written.ok_or_else(|| self.refuse("a path of a FieldMask has no JSON"))
            }
            MessageForm::Any => Ok(()),
            MessageForm::Entry if self.is_key(field) => {
                let text = std::mem::take(&mut self.text);
                let flow = self.key(|out| out.extend_from_slice(&text));
                self.text = text;
                flow
            }
            _ => {
                self.out.push(b'"');
                Ok(())
            }
        }
    }

    fn whole_string(&mut self, field: FieldId, text: &'a str) -> SinkResult {
        if self.top.shape == MessageForm::Plain && !text.is_empty() {
            self.begin(field)?;
            print::quote(&mut self.out, text);
            return Ok(());
        }
        self.start_string(field, text.len())?;
        self.string(field, text)?;
        self.end_string(field)
    }

    fn start_bytes(&mut self, field: FieldId, length: usize) -> SinkResult {
        if self.top.shape == MessageForm::Any {
            if let Some(any) = self.anys.last_mut() {
                any.value.clear();
            }
            return Ok(());
        }
        if self.mapping.field(field).kind == ValueForm::String {
            // Messages pass strings that are not UTF-8 in this way.
            return Err(self.no_utf8(field));
        }
        self.absent = length == 0 && self.is_absent(field)?;
        if !self.absent {
            self.begin(field)?;
            self.out.push(b'"');
        }
        Ok(())
    }

    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        if self.top.shape == MessageForm::Any {
            if let Some(any) = self.anys.last_mut() {
                any.value.extend_from_slice(piece);
            }
            return Ok(());
        }
        self.base64.push(&mut self.out, piece);
        Ok(())
    }

    fn end_bytes(&mut self, _: FieldId) -> SinkResult {
        if self.top.shape != MessageForm::Any && !self.absent {
            self.base64.finish(&mut self.out);
            self.out.push(b'"');
        }
        Ok(())
    }

    fn unknown(&mut self, number: u32, _: &'a [u8]) -> SinkResult {
        match self.options.unknown {
            Unknown::Ignore => Ok(()),
            Unknown::Refuse => Err(self.refuse_unknown(self.top.message, number)),
        }
    }

    fn unknown_element(&mut self, number: u32, _: u64) -> SinkResult {
        self.unknown(number, &[])
    }
}
