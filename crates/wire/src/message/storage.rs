//! What a native decoder needs of the builder whose message it fills by itself.

use super::arena::Arena;
use super::build::{Builder, Frame, Keeping};
use super::layout::Maps;
use super::record::{List, Record};
use crate::schema::{FieldId, FieldType, MessageId, NamedNumbers, Schema};
use crate::sink::Flow;
use crate::varint;

/// A message around the one that is being filled: its record, its type, and the field inside it.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    pub(crate) record: Record,
    pub(crate) message: MessageId,
    pub(crate) field: FieldId,
}

mod sealed {
    /// Code stores where these say: builders only.
    pub trait Sealed {}
    impl<K> Sealed for super::Builder<'_, K> {}
}

/// See the module.
pub trait Storage: sealed::Sealed {
    /// The schema of its records.
    fn schema(&self) -> &Schema;

    /// What maps are in its records.
    fn maps(&self) -> Maps;

    /// Whether strings are copied.
    fn copies(&self) -> bool;

    /// False while something is open that only events can go on with.
    fn is_plain(&self) -> bool;

    /// The memory of its records.
    fn arena(&mut self) -> *mut Arena;

    /// The record being filled, and its type.
    fn record(&self) -> (Record, MessageId);

    /// The record that so many others are around, and its type.
    fn outside(&self, depth: usize) -> Option<(Record, MessageId)>;

    /// Goes on in a record of that type, which those of `outside` are around, outermost first.
    fn go_on(
        &mut self,
        record: Record,
        message: MessageId,
        outside: &mut dyn Iterator<Item = Outside>,
    );

    /// The end of an entry of a map in the record `outer`.
    ///
    /// # Errors
    /// There is no memory.
    fn end_of_entry(&mut self, field: FieldId, entry: Record, outer: Record) -> Flow;

    /// Appends the numbers of a packed list to the field of the record being filled, as many as
    /// are right and complete; gives how many bytes these were. What is left is for single events.
    fn append_packed(&mut self, field: FieldId, bytes: &[u8]) -> usize;

    /// Notes that there was no memory.
    fn full(&mut self);
}

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
                let kept = match named.has(value) {
                    true => list.push(self.arena, value).is_some(),
                    false => self.push_unknown_number(number, raw).is_ok(),
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

    fn end_of_entry(&mut self, field: FieldId, entry: Record, outer: Record) -> Flow {
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
        // A list that has no numbers is not there.
        if bytes.is_empty() {
            return 0;
        }
        let list = self.record.make_list(self.arena, self.layout, id.0, field);
        let Some(mut list) = list else { return 0 };
        // SAFETY: a list of such a field, which nobody else uses meanwhile.
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
