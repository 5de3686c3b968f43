//! Events into text. Lists may be spread: text may have their elements anywhere. A field that
//! occurs twice, or a second member of a oneof, must be merged first, as for JSON.

use super::sink::{PrintUnknown, TextSink};
use super::{any, literal, unknown};
use crate::escape;
use crate::json::print;
use crate::json::{EnumName, MessageForm, ValueForm};
use crate::schema::raw::put_varint;
use crate::schema::{FieldId, MessageId};
use crate::sink::Sink;
use crate::stop::{SinkResult, Stop};

impl TextSink<'_, '_> {
    fn close(&mut self) {
        if self.here.shape == MessageForm::Any {
            let (type_url, value) = self.anys.pop().unwrap_or_default();
            if !any::expand(self, &type_url, &value) {
                for (name, bytes) in [("type_url", type_url), ("value", value)] {
                    if !bytes.is_empty() {
                        self.any_part(name, &bytes);
                    }
                }
            }
        }
        self.seen.truncate(self.here.seen);
    }

    /// Closes the message inside an `Any`.
    pub(super) fn close_any(&mut self) -> SinkResult {
        self.close();
        self.here = self.frames.pop().ok_or(Stop)?;
        self.close_brace();
        self.end_line();
        Ok(())
    }
}

impl<'a> Sink<'a> for TextSink<'_, '_> {
    fn start_message(&mut self, message: MessageId) -> SinkResult {
        self.frames.clear();
        self.seen.clear();
        self.anys.clear();
        self.indent = 0;
        self.problem = None;
        self.open(message);
        Ok(())
    }

    fn end_message(&mut self, _: MessageId) -> SinkResult {
        self.close();
        Ok(())
    }

    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        self.begin(field)?;
        self.open_brace();
        let ValueForm::Message(message) = self.mapping.field(field).kind else { return Err(Stop) };
        self.frames.push(self.here);
        self.open(message);
        Ok(())
    }

    fn end_sub(&mut self, _: FieldId) -> SinkResult {
        self.close();
        self.here = self.frames.pop().ok_or(Stop)?;
        self.close_brace();
        self.end_line();
        Ok(())
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| print::integer(out, value))
    }

    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| print::integer(out, value))
    }

    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        let mapping = self.mapping;
        let name = match mapping.field(field).kind {
            ValueForm::Enum(id) => mapping.enum_name(id, value),
            ValueForm::Null if value == 0 => Some(EnumName::Bare("NULL_VALUE")),
            _ => None,
        };
        self.scalar(field, |out| match name {
            Some(EnumName::Quoted(name)) => {
                out.extend_from_slice(name.trim_matches('"').as_bytes());
            }
            Some(EnumName::Bare(name)) => out.extend_from_slice(name.as_bytes()),
            None => print::integer(out, value),
        })
    }

    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| print::integer(out, value))
    }

    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        // Minus zero is present.
        if value.to_bits() == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| literal::double(out, value))
    }

    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        if value.to_bits() == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| literal::float(out, value))
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        if !value && self.is_absent(field)? {
            return Ok(());
        }
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.scalar(field, |out| out.extend_from_slice(text))
    }

    fn start_string(&mut self, field: FieldId, length: usize) -> SinkResult {
        match self.anys.last_mut() {
            Some(any) if self.here.shape == MessageForm::Any => any.0.clear(),
            _ => {
                self.absent = length == 0 && self.is_absent(field)?;
                if self.absent {
                    return Ok(());
                }
                self.begin(field)?;
                self.out.extend_from_slice(b": \"");
            }
        }
        Ok(())
    }

    fn string(&mut self, _: FieldId, piece: &'a str) -> SinkResult {
        match self.anys.last_mut() {
            Some(any) if self.here.shape == MessageForm::Any => {
                any.0.extend_from_slice(piece.as_bytes());
            }
            _ => escape::escape_text(&mut self.out, piece),
        }
        Ok(())
    }

    fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        match std::str::from_utf8(piece) {
            Ok(text) => self.string(field, text),
            Err(_) => {
                escape::escape_bytes(&mut self.out, piece);
                Ok(())
            }
        }
    }

    fn end_string(&mut self, _: FieldId) -> SinkResult {
        if self.here.shape != MessageForm::Any && !self.absent {
            self.out.push(b'"');
            self.end_line();
        }
        Ok(())
    }

    fn start_bytes(&mut self, field: FieldId, length: usize) -> SinkResult {
        match self.anys.last_mut() {
            Some(any) if self.here.shape == MessageForm::Any => any.1.clear(),
            _ => {
                self.absent = length == 0 && self.is_absent(field)?;
                if self.absent {
                    return Ok(());
                }
                self.begin(field)?;
                self.out.extend_from_slice(b": \"");
            }
        }
        Ok(())
    }

    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        match self.anys.last_mut() {
            Some(any) if self.here.shape == MessageForm::Any => any.1.extend_from_slice(piece),
            _ => escape::escape_bytes(&mut self.out, piece),
        }
        Ok(())
    }

    fn end_bytes(&mut self, field: FieldId) -> SinkResult {
        self.end_string(field)
    }

    fn unknown(&mut self, _: u32, raw: &'a [u8]) -> SinkResult {
        if self.options.unknown == PrintUnknown::Print {
            unknown::write(self, raw);
        }
        Ok(())
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> SinkResult {
        let mut raw = Vec::new();
        put_varint(&mut raw, number, value);
        if self.options.unknown == PrintUnknown::Print {
            unknown::write(self, &raw);
        }
        Ok(())
    }
}
