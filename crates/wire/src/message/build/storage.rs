//! The interface by which a native decoder fills the message of a builder.

use super::{Builder, Frame, Keeping};
use crate::message::arena::Arena;
use crate::message::layout::Maps;
use crate::message::record::Record;
use crate::message::slots::List;
use crate::message::storage::{Outside, Storage, sealed};
use crate::schema::{FieldId, FieldType, MessageId, NamedNumbers, Schema};
use crate::stop::SinkResult;
use crate::varint;

/// Bytes of a list of a closed enum that are read one by one where a number in them has no name.
const PIECE_BYTES: usize = 256;

impl<K: Keeping> Builder<'_, K> {
    /// Appends the numbers that have a name; the others become unknown fields.
    fn append_closed(
        &mut self,
        list: &mut List,
        named: &NamedNumbers,
        number: u32,
        bytes: &[u8],
    ) -> usize {
        let (mut pos, mut piece_bytes) = (0, bytes.len());
        while pos < bytes.len() {
            let piece = &bytes[pos..bytes.len().min(pos + piece_bytes)];
            piece_bytes = PIECE_BYTES;
            // SAFETY: a list of an enum.
            let read = unsafe { list.append_named(self.arena, named, piece) };
            pos += read;
            if read > 0 {
                continue;
            }
            let end = pos + piece.len();
            while pos < end {
                let Ok((raw, length)) = varint::read(&bytes[pos..]) else { return pos };
                let value = raw as i32;
                let kept = if named.has(value) {
                    list.push(self.arena, value).is_some()
                } else {
                    self.push_unknown_number(number, raw).is_ok()
                };
                if !kept {
                    return pos;
                }
                pos += length;
            }
        }
        pos
    }
}

impl<K> sealed::Sealed for Builder<'_, K> {}

impl<K: Keeping> Storage for Builder<'_, K> {
    fn schema(&self) -> &Schema {
        self.schema
    }

    fn maps(&self) -> Maps {
        self.layouts.maps()
    }

    fn copies(&self) -> bool {
        K::COPIES
    }

    fn is_plain(&self) -> bool {
        !self.odd_entry && self.frames.iter().all(|frame| !frame.odd_entry)
    }

    fn arena(&mut self) -> *mut Arena {
        self.arena
    }

    fn record(&self) -> (Record, MessageId) {
        (self.record, self.layout.message)
    }

    fn outside(&self, depth: usize) -> Option<(Record, MessageId)> {
        self.frames.get(depth).map(|frame| (frame.record, frame.message))
    }

    fn go_on(
        &mut self,
        record: Record,
        message: MessageId,
        outside: &mut dyn Iterator<Item = Outside>,
    ) {
        self.frames.clear();
        self.frames.extend(outside.map(|Outside { record, message, field }| Frame {
            record,
            message,
            field,
            odd_entry: false,
        }));
        (self.record, self.layout) = (record, self.layouts.record(message));
    }

    fn end_of_entry(&mut self, field: FieldId, entry: Record, outer: Record) -> SinkResult {
        let layout = self.layouts.record(self.layouts.field(field).message);
        let inner = (self.record, self.layout);
        (self.record, self.layout) = (outer, layout);
        let flow = self.end_entry(field, entry, false);
        (self.record, self.layout) = inner;
        flow
    }

    fn append_packed(&mut self, id: FieldId, bytes: &[u8]) -> usize {
        let Some(field) = self.layouts.find(id) else { return 0 };
        let Some(numbers) = field.numbers.filter(|_| field.message == self.layout.message) else {
            return 0;
        };
        // A list without numbers is absent.
        if bytes.is_empty() {
            return 0;
        }
        let list = self.record.make_list(self.arena, self.layout, id.0, field);
        let Some(mut list) = list else { return 0 };
        // SAFETY: a list of such a field, which nothing else uses meanwhile.
        let list: &mut List = unsafe { list.as_mut() };
        match field.ty {
            FieldType::Enum(of) if field.closed => {
                let named = self.schema.enum_def(of).named();
                self.append_closed(list, named, field.number, bytes)
            }
            // SAFETY: likewise.
            _ => unsafe { list.append_packed(self.arena, numbers, bytes) },
        }
    }

    fn full(&mut self) {
        let _ = Builder::full(self);
    }
}
