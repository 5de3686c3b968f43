//! The events of a builder.

use super::{Builder, Frame, Keep, Text};
use crate::message::access::AccessError;
use crate::message::layout::{Shape, ValueType};
use crate::message::record::Record;
use crate::message::storage::Storage;
use crate::schema::{FieldId, MessageId};
use crate::sink::Sink;
use crate::stop::{SinkResult, Stop};

impl<'a, K: Keep<'a>> Builder<'_, K> {
    #[inline]
    fn piece(&mut self, piece: &'a [u8]) -> SinkResult {
        if self.text.view.len > 0 {
            return self.append(piece);
        }
        match K::keep(self.arena, piece) {
            Some(view) => {
                self.text.view = view;
                Ok(())
            }
            None => Err(self.full()),
        }
    }
}

impl<'a, K: Keep<'a>> Sink<'a> for Builder<'_, K> {
    fn storage(&mut self) -> Option<&mut dyn Storage> {
        Some(self)
    }

    fn start_message(&mut self, message: MessageId) -> SinkResult {
        if message == self.layout.message && self.frames.is_empty() {
            return Ok(());
        }
        let name = |of: MessageId| match self.schema.message_at(of.index()) {
            Some(of) => self.schema.full_name(of).to_owned(),
            None => "of another schema".to_owned(),
        };
        let (wanted, given) = (name(self.layout.message), name(message));
        Err(self.fail(AccessError::WrongMessage { wanted, given }))
    }

    fn start_sub(&mut self, id: FieldId) -> SinkResult {
        let field = self.field(id, ValueType::Message)?;
        let Some(of) = field.record else { return Err(Stop) };
        let of = self.layouts.record(of);
        let record = match field.shape {
            Shape::Single => self.record.make_record(self.arena, self.layout, id.0, field, of),
            Shape::Map => Record::new(self.arena, of),
            Shape::List => match Record::new(self.arena, of) {
                Some(record) => {
                    self.store(id, field, record)?;
                    Some(record)
                }
                None => None,
            },
        };
        let Some(record) = record else { return Err(self.full()) };
        let outer = Frame {
            record: self.record,
            message: self.layout.message,
            field: id,
            odd_entry: self.odd_entry,
        };
        self.frames.push(outer);
        (self.record, self.layout, self.odd_entry) = (record, of, false);
        Ok(())
    }

    fn end_sub(&mut self, id: FieldId) -> SinkResult {
        let Some(outer) = self.frames.pop_if(|frame| frame.field == id) else {
            return Err(self.misfit(id, "end of a message"));
        };
        let (inner, odd) = (self.record, self.odd_entry);
        let is_entry = self.layout.map_entry;
        self.record = outer.record;
        self.layout = self.layouts.record(outer.message);
        self.odd_entry = outer.odd_entry;
        if is_entry && self.layouts.field(id).shape == Shape::Map {
            return self.end_entry(id, inner, odd);
        }
        Ok(())
    }

    #[inline]
    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        self.put(field, ValueType::I64, value)
    }

    #[inline]
    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        self.put(field, ValueType::U64, value)
    }

    #[inline]
    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        match self.layouts.find(field) {
            Some(layout) if layout.kind == ValueType::Enum => self.put_enum(field, value),
            _ => self.put(field, ValueType::I32, value),
        }
    }

    #[inline]
    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        self.put(field, ValueType::U32, value)
    }

    #[inline]
    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        self.put(field, ValueType::F64, value)
    }

    #[inline]
    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        self.put(field, ValueType::F32, value)
    }

    #[inline]
    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        self.put(field, ValueType::Bool, u8::from(value))
    }

    #[inline]
    fn start_string(&mut self, _: FieldId, _: usize) -> SinkResult {
        self.text = Text::NONE;
        Ok(())
    }

    #[inline]
    fn string(&mut self, _: FieldId, piece: &'a str) -> SinkResult {
        self.piece(piece.as_bytes())
    }

    #[inline]
    fn raw_string(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        self.text.utf8 = false;
        self.piece(piece)
    }

    #[inline]
    fn end_string(&mut self, field: FieldId) -> SinkResult {
        let text = std::mem::replace(&mut self.text, Text::NONE);
        let field_layout = self.field(field, ValueType::String)?;
        // SAFETY: the view is of the pieces appended just before.
        let valid = || std::str::from_utf8(unsafe { text.view.bytes() }).is_ok();
        if !text.utf8 && field_layout.utf8 && !valid() {
            return Err(self.misfit(field, ValueType::Bytes.name()));
        }
        self.store(field, field_layout, text.view)
    }

    #[inline]
    fn whole_string(&mut self, id: FieldId, text: &'a str) -> SinkResult {
        let field = self.field(id, ValueType::String)?;
        let Some(view) = K::keep(self.arena, text.as_bytes()) else { return Err(self.full()) };
        self.store(id, field, view)
    }

    #[inline]
    fn start_bytes(&mut self, _: FieldId, _: usize) -> SinkResult {
        self.text = Text::NONE;
        Ok(())
    }

    #[inline]
    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        self.text.utf8 = false;
        self.piece(piece)
    }

    #[inline]
    fn end_bytes(&mut self, field: FieldId) -> SinkResult {
        let text = std::mem::replace(&mut self.text, Text::NONE);
        match self.layouts.find(field) {
            // Strings that need not be UTF-8 are passed as bytes if they are not.
            Some(layout) if layout.kind == ValueType::String && !layout.utf8 => {
                self.put(field, ValueType::String, text.view)
            }
            _ => self.put(field, ValueType::Bytes, text.view),
        }
    }

    fn unknown(&mut self, number: u32, raw: &'a [u8]) -> SinkResult {
        if self.layout.map_entry && number == 2 {
            self.odd_entry |= self.is_odd_value(raw);
        }
        let view = K::keep(self.arena, raw);
        let pushed = view.and_then(|view| self.record.push_unknown(self.arena, view));
        pushed.ok_or_else(|| self.full())
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> SinkResult {
        self.push_unknown_number(number, value)
    }
}
