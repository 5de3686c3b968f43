//! Events from messages: those that a decoder emits for their bytes.
//!
//! Fields come ascending by number, extensions included; then unknown fields in the order of the
//! input. Entries of maps come as messages, always with key and value. The walk keeps its own
//! stack, so memory alone limits the nesting.

use super::layout::{FieldLayout, Layouts, RecordLayout, Shape, ValueType, cell_at};
use super::map::{MapOrder, map_of, sorted_entries};
use super::present::Present;
use super::record::Record;
use super::slots::{List, Slot, View};
use super::value::MessageRef;
use crate::schema::{FieldId, Schema};
use crate::sink::{Sink, SinkResult};
use crate::{utf8, varint};

/// Records of one field that are still to be walked.
enum Items<'m> {
    Slice(&'m [Record]),
    Sorted(std::vec::IntoIter<Record>),
}

impl Items<'_> {
    fn next(&mut self) -> Option<Record> {
        match self {
            Items::Sorted(records) => records.next(),
            Items::Slice(records) => {
                let (first, rest) = records.split_first()?;
                *records = rest;
                Some(*first)
            }
        }
    }
}

struct Frame<'m> {
    record: Record,
    present: Present<'m>,
    items: Items<'m>,
    /// The field of the items, and their layout.
    field: FieldId,
    of: &'m RecordLayout,
}

impl<'m> MessageRef<'m> {
    /// Passes the events of the whole message to a sink.
    ///
    /// # Errors
    /// The sink stopped the walk.
    pub fn walk<S: Sink<'m>>(&self, sink: &mut S) -> SinkResult {
        self.walk_ordered(MapOrder::Stored, sink)
    }

    /// As [`MessageRef::walk`], with the entries of maps in the given order.
    ///
    /// # Errors
    /// The sink stopped the walk.
    pub fn walk_ordered<S: Sink<'m>>(&self, order: MapOrder, sink: &mut S) -> SinkResult {
        sink.start_message(self.layout.message)?;
        if let Some(record) = self.record {
            let layouts = self.schema.layouts();
            let root = frame(layouts, self.layout, record);
            Walk { schema: self.schema, layouts, order, frames: vec![root], sink }.run()?;
        }
        sink.end_message(self.layout.message)
    }
}

fn frame<'m>(layouts: &'m Layouts, layout: &'m RecordLayout, record: Record) -> Frame<'m> {
    let present = Present::of(layouts, layout, Some(record));
    Frame { record, present, items: Items::Slice(&[]), field: FieldId(0), of: layout }
}

struct Walk<'m, 'k, S> {
    schema: &'m Schema,
    layouts: &'m Layouts,
    order: MapOrder,
    frames: Vec<Frame<'m>>,
    sink: &'k mut S,
}

impl<'m, S: Sink<'m>> Walk<'m, '_, S> {
    fn run(&mut self) -> SinkResult {
        'frame: while let Some(top) = self.frames.last_mut() {
            if let Some(record) = top.items.next() {
                self.sink.start_sub(top.field)?;
                let inner = frame(self.layouts, top.of, record);
                self.frames.push(inner);
                continue;
            }
            for (id, field, slot) in top.present.by_ref() {
                if let Some(of) = field.record {
                    let items = items(self.schema, self.order, field, slot);
                    (top.items, top.field, top.of) = (items, id, self.layouts.record(of));
                    continue 'frame;
                }
                values(self.sink, id, field, slot)?;
            }
            unknown(top.record, self.sink)?;
            self.frames.pop();
            if let Some(outer) = self.frames.last() {
                self.sink.end_sub(outer.field)?;
            }
        }
        Ok(())
    }
}

/// The records of a message field.
fn items<'m>(schema: &Schema, order: MapOrder, field: &FieldLayout, slot: Slot) -> Items<'m> {
    // SAFETY: the slot is stored and holds a value of its shape; records live for `'m`.
    unsafe {
        match field.shape {
            Shape::Single => Items::Slice(slot.cast::<[Record; 1]>().as_ref()),
            Shape::List => Items::Slice(slot.cast::<List>().read().values()),
            Shape::Map if order == MapOrder::Stored => Items::Slice(map_of(slot).records()),
            Shape::Map => {
                let (_, key, ..) = schema.layouts().entry_fields(field);
                Items::Sorted(sorted_entries(map_of(slot).records(), key).into_iter())
            }
        }
    }
}

/// Passes the values of a field without messages to the sink.
#[inline]
fn values<'m, S: Sink<'m>>(
    sink: &mut S,
    id: FieldId,
    field: &FieldLayout,
    slot: Slot,
) -> SinkResult {
    if field.shape == Shape::Single {
        return value(sink, id, field, slot);
    }
    // SAFETY: the stored slot of a repeated field holds a list.
    let list: List = unsafe { slot.cast().read() };
    for index in 0..list.len as usize {
        value(sink, id, field, cell_at(field.cell, &list, index))?;
    }
    Ok(())
}

fn unknown<'m, S: Sink<'m>>(record: Record, sink: &mut S) -> SinkResult {
    for view in record.unknown() {
        // SAFETY: views live as long as the message.
        let raw = unsafe { view.bytes() };
        let tag = varint::read(raw).map_or(0, |(tag, _)| tag);
        sink.unknown((tag >> 3) as u32, raw)?;
    }
    Ok(())
}

#[inline]
fn value<'m, S: Sink<'m>>(sink: &mut S, id: FieldId, field: &FieldLayout, at: Slot) -> SinkResult {
    // SAFETY: a stored cell holds a value of its kind; views live for `'m`.
    unsafe {
        match field.kind {
            ValueType::F64 => sink.f64(id, at.cast().read()),
            ValueType::F32 => sink.f32(id, at.cast().read()),
            ValueType::I64 => sink.i64(id, at.cast().read()),
            ValueType::U64 => sink.u64(id, at.cast().read()),
            ValueType::I32 | ValueType::Enum => sink.i32(id, at.cast().read()),
            ValueType::U32 => sink.u32(id, at.cast().read()),
            ValueType::Bool => sink.bool(id, at.read() != 0),
            ValueType::String => string(sink, id, field, at.cast::<View>().read().bytes()),
            ValueType::Bytes => bytes(sink, id, at.cast::<View>().read().bytes()),
            // Messages are walked by frames.
            ValueType::Message => Ok(()),
        }
    }
}

#[inline]
fn string<'m, S: Sink<'m>>(
    sink: &mut S,
    id: FieldId,
    field: &FieldLayout,
    raw: &'m [u8],
) -> SinkResult {
    let text = if field.utf8 {
        // SAFETY: strings stored into such a field have been checked.
        unsafe { std::str::from_utf8_unchecked(raw) }
    } else {
        let Ok(text) = utf8::text(raw) else { return bytes(sink, id, raw) };
        text
    };
    sink.whole_string(id, text)
}

fn bytes<'m, S: Sink<'m>>(sink: &mut S, id: FieldId, bytes: &'m [u8]) -> SinkResult {
    sink.start_bytes(id, bytes.len())?;
    sink.bytes(id, bytes)?;
    sink.end_bytes(id)
}
