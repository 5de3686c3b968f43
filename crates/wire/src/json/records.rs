//! Printing messages in memory as JSON: the same text as by [`JsonSink`], without events.
//!
//! A record is printed by the [`JsonSteps`] of its type, through the end of the text (`cursor.rs`),
//! with one check for room before each value. Each value is followed by a comma, which becomes the
//! bracket if nothing follows: so the first value needs no special case.
//!
//! ```text
//!   {"a":1,"b":[1,2,      -->      {"a":1,"b":[1,2],      -->      {"a":1,"b":[1,2]},
//! ```
//! Messages with special forms, extensions, and deeply nested messages are left to the events.

use super::cursor::{self, End, Roomy, Text};
use super::mapping::EnumName;
use super::names::{Cardinality, ValueForm};
use super::options::{Defaults, Enums, Unknown};
use super::print::{self, Base64};
use super::sink::JsonSink;
use super::steps::{JsonSteps, RecordSteps, Step};
use super::{PrintError, WriteProblem};
use crate::message::MessageRef;
use crate::message::map::map_of;
use crate::message::present::is_zero;
use crate::message::record::{self, Record, Slot, View};
use crate::schema::{EnumId, MessageId};
use crate::{utf8, varint};

/// The depth at which the events take over, which need no stack.
const DEPTH_MAX: u32 = 64;

/// Writes the JSON of a message in memory with a sink, which keeps its memory for more.
///
/// # Errors
/// Values that have no JSON.
pub fn print_message(
    sink: &mut JsonSink<'_, '_>,
    message: MessageRef<'_>,
) -> Result<(), PrintError> {
    let start = sink.out.len();
    if !message.schema.is_same(sink.mapping.schema) {
        return Err(PrintError::Value("the message is of another schema".to_owned()));
    }
    let printed = match message.record {
        Some(record) if sink.options.defaults == Defaults::Omit => {
            print(sink, message.layout.message, record)
        }
        _ => by_events(sink, message),
    };
    printed.ok_or_else(|| {
        sink.out.truncate(start);
        match sink.problem() {
            Some(WriteProblem::Value(what)) => PrintError::Value(what.clone()),
            _ => PrintError::Value("the message cannot be written".to_owned()),
        }
    })
}

fn by_events(sink: &mut JsonSink<'_, '_>, message: MessageRef<'_>) -> Option<()> {
    let merged = std::mem::replace(&mut sink.merged, true);
    let walked = message.walk(sink);
    sink.merged = merged;
    walked.ok()
}

/// Prints the message of a record.
fn print(sink: &mut JsonSink<'_, '_>, message: MessageId, record: Record) -> Option<()> {
    sink.reset();
    let mut bytes = std::mem::take(&mut sink.out);
    let (steps, texts) = sink.mapping.steps(sink.options.names);
    let refuse_unknown = sink.options.unknown == Unknown::Refuse;
    let done = cursor::write(&mut bytes, |text, end| {
        let mut printer = Printer { sink, text, steps, texts, refuse_unknown };
        let end = printer.text.room(end);
        // SAFETY: the record is of that message of the schema.
        unsafe { printer.message(end, message, record, DEPTH_MAX) }
    });
    // A message has a comma after it.
    bytes.truncate(bytes.len() - usize::from(done.is_some()));
    sink.out = bytes;
    done
}

struct Printer<'k, 'm, 's, 't> {
    /// Prints the parts left to events; its buffer is with the text.
    sink: &'k mut JsonSink<'m, 's>,
    text: &'k mut Text<'t>,
    steps: &'s JsonSteps,
    /// Keys; [`super::scan::WIDE`] bytes follow the last.
    texts: &'s [u8],
    refuse_unknown: bool,
}

impl<'s, 't> Printer<'_, '_, 's, 't> {
    /// A message and a comma; `None` if there is no JSON for it.
    ///
    /// # Safety
    /// Here and below: records and slots are those of the schema's layouts.
    #[inline(always)]
    unsafe fn message(
        &mut self,
        end: Roomy<'t>,
        message: MessageId,
        record: Record,
        depth: u32,
    ) -> Option<End<'t>> {
        let steps = self.steps.of(message.index());
        let odd = record.extra().is_some() && self.is_odd(record);
        if !steps.plain || depth == 0 || odd {
            return self.by_events(end.end(), message, record);
        }
        // SAFETY: record and slot are those of the schema's layouts, as the caller guarantees.
        unsafe { self.record(end, steps, record, depth - 1) }
    }

    #[cold]
    fn is_odd(&self, record: Record) -> bool {
        !record.extensions().is_empty() || self.refuse_unknown && !record.unknown().is_empty()
    }

    #[inline(never)]
    fn by_events(&mut self, end: End<'t>, message: MessageId, record: Record) -> Option<End<'t>> {
        let Printer { sink, text, .. } = self;
        let message = MessageRef::new(sink.mapping.schema(), message, Some(record));
        let (end, done) = text.with(end, |bytes| {
            std::mem::swap(&mut sink.out, bytes);
            let done = by_events(sink, message);
            std::mem::swap(&mut sink.out, bytes);
            bytes.push(b',');
            done
        });
        done.map(|()| end)
    }

    /// A message that is an object with a key for each field, and a comma.
    unsafe fn record(
        &mut self,
        end: Roomy<'t>,
        steps: &'s RecordSteps,
        record: Record,
        depth: u32,
    ) -> Option<End<'t>> {
        let mut end = end.put(b"{");
        for (word, steps) in steps.steps.chunks(64).enumerate() {
            let mut left = record.presence_word(word as u32);
            while left != 0
                && let Some(step) = steps.get(left.trailing_zeros() as usize)
            {
                left &= left - 1;
                // SAFETY: the record is of these steps' message, and a slot whose bit is set is
                // stored.
                end = unsafe {
                    let slot = record.at(step.offset);
                    match step.list {
                        Cardinality::Single => self.field(end, step, slot, depth)?,
                        Cardinality::Repeated => self.list(end, step, slot, depth)?,
                        Cardinality::Map => self.map(end, step, slot, depth)?,
                    }
                };
            }
        }
        Some(self.text.close(end, b"},"))
    }

    /// The key of a field.
    #[inline(always)]
    fn key(&mut self, end: End<'t>, step: &Step) -> Roomy<'t> {
        let key = self.texts.get(step.key_start as usize..).unwrap_or_default();
        self.text.key(end, key, step.key_len as usize)
    }

    /// A field with a single value; nothing is written for a value that means absence.
    #[inline(always)]
    unsafe fn field(
        &mut self,
        end: End<'t>,
        step: &Step,
        slot: Slot,
        depth: u32,
    ) -> Option<End<'t>> {
        // SAFETY: record and slot are those of the schema's layouts, as the caller guarantees.
        if step.implicit && unsafe { is_zero(step.cell, slot) } {
            return Some(end);
        }
        let value = self.key(end, step);
        // SAFETY: record and slot are those of the schema's layouts, as the caller guarantees.
        unsafe { self.value(value, step, slot, depth) }
    }

    /// A value and a comma.
    #[inline(always)]
    unsafe fn value(
        &mut self,
        end: Roomy<'t>,
        step: &Step,
        slot: Slot,
        depth: u32,
    ) -> Option<End<'t>> {
        // SAFETY: the slot is that of the step, and holds what its kind says.
        unsafe {
            Some(match step.kind {
                ValueForm::Int64 => end.quoted(slot.cast::<i64>().read(), b','),
                ValueForm::Uint64 => end.quoted(slot.cast::<u64>().read(), b','),
                ValueForm::Int32 => end.integer(slot.cast::<i32>().read(), b','),
                ValueForm::Uint32 => end.integer(slot.cast::<u32>().read(), b','),
                ValueForm::Double => end.double(slot.cast::<f64>().read(), b','),
                ValueForm::Float => end.float(slot.cast::<f32>().read(), b','),
                ValueForm::Bool => end.truth(slot.read() != 0, b','),
                ValueForm::String => {
                    let text = slot.cast::<View>().read();
                    return self.string(end.end(), step, text.bytes(), b',');
                }
                ValueForm::Bytes => self.bytes(end.end(), slot.cast::<View>().read().bytes()),
                ValueForm::Enum(id) => self.enumeration(end, id, slot.cast::<i32>().read()),
                ValueForm::Null => end.put(b"null,"),
                ValueForm::Message(message) => {
                    return self.message(end, message, slot.cast::<Record>().read(), depth);
                }
            })
        }
    }

    /// A repeated field.
    #[inline(never)]
    unsafe fn list(
        &mut self,
        end: End<'t>,
        step: &Step,
        slot: Slot,
        depth: u32,
    ) -> Option<End<'t>> {
        // SAFETY: the slot is that of the step, and the slot of a repeated field holds a list.
        let list = unsafe { slot.cast::<record::List>().read() };
        if list.len == 0 {
            return Some(end);
        }
        let mut end = self.key(end, step).put(b"[");
        let cell_bytes = step.cell.bytes() as usize;
        for at in 0..list.len as usize {
            let value = self.text.room(end);
            // SAFETY: the list has `len` cells of that size.
            end = unsafe {
                let cell = Slot::new_unchecked(list.start).add(at * cell_bytes);
                self.value(value, step, cell, depth)?
            };
        }
        Some(self.text.close(end, b"],"))
    }

    /// A map.
    #[inline(never)]
    unsafe fn map(&mut self, end: End<'t>, step: &Step, slot: Slot, depth: u32) -> Option<End<'t>> {
        let ValueForm::Message(entry_type) = step.kind else { return None };
        let [key, value] = &*self.steps.of(entry_type.index()).steps else { return None };
        // SAFETY: the slot is that of the step, and the slot of a map field holds a map.
        let entries = unsafe { map_of(slot) }.records();
        if entries.is_empty() {
            return Some(end);
        }
        let mut end = self.key(end, step).put(b"{");
        for entry in entries {
            if self.refuse_unknown && self.has_unknown(entry_type, *entry) {
                return None;
            }
            let place = self.text.room(end);
            // SAFETY: the entry is of these steps' message, and has key and value.
            end = unsafe {
                let end = self.map_key(place, key, entry.at(key.offset))?;
                let place = self.text.room(end);
                self.value(place, value, entry.at(value.offset), depth)?
            };
        }
        Some(self.text.close(end, b"},"))
    }

    /// True, and a problem of the sink, if an entry has fields beside key and value.
    #[cold]
    fn has_unknown(&mut self, entry_type: MessageId, entry: Record) -> bool {
        let Some(first) = entry.unknown().first() else { return false };
        // SAFETY: views live as long as the message.
        let (tag, _) = varint::read(unsafe { first.bytes() }).unwrap_or_default();
        let _ = self.sink.refuse_unknown(entry_type, (tag >> 3) as u32);
        true
    }

    /// The key of an entry, which is a string whatever its type, and a colon.
    unsafe fn map_key(&mut self, end: Roomy<'t>, step: &Step, slot: Slot) -> Option<End<'t>> {
        // SAFETY: the slot is that of the step, and holds what its kind says.
        unsafe {
            Some(match step.kind {
                ValueForm::Int64 => end.quoted(slot.cast::<i64>().read(), b':'),
                ValueForm::Uint64 => end.quoted(slot.cast::<u64>().read(), b':'),
                ValueForm::Int32 => end.quoted(slot.cast::<i32>().read(), b':'),
                ValueForm::Uint32 => end.quoted(slot.cast::<u32>().read(), b':'),
                ValueForm::Bool => end.quoted_truth(slot.read() != 0, b':'),
                ValueForm::String => {
                    let text = slot.cast::<View>().read();
                    return self.string(end.end(), step, text.bytes(), b':');
                }
                _ => return None,
            })
        }
    }

    /// A string in quotes, and a byte after it.
    #[inline]
    fn string(&mut self, end: End<'t>, step: &Step, text: &[u8], after: u8) -> Option<End<'t>> {
        if !step.utf8 && !utf8::is_utf8(text) {
            let _ = self.sink.no_utf8(step.field);
            return None;
        }
        Some(self.text.string(end, text, after))
    }

    /// Bytes in quotes, and a comma.
    #[inline(never)]
    fn bytes(&mut self, end: End<'t>, bytes: &[u8]) -> End<'t> {
        let write = |out: &mut Vec<u8>| {
            let mut base64 = Base64::default();
            out.push(b'"');
            base64.push(out, bytes);
            base64.finish(out);
            out.extend_from_slice(b"\",");
        };
        self.text.with(end, write).0
    }

    /// The name of a number, or the number, and a comma.
    #[inline(always)]
    fn enumeration(&mut self, end: Roomy<'t>, id: EnumId, number: i32) -> End<'t> {
        let name = match self.sink.options.enums {
            Enums::Name => self.sink.mapping.enum_name(id, number),
            Enums::Number => None,
        };
        match name {
            Some(EnumName::Quoted(name)) => self.text.copy(end.end(), name.as_bytes(), b','),
            Some(EnumName::Bare(name)) => {
                let write = |out: &mut Vec<u8>| {
                    print::quote(out, name);
                    out.push(b',');
                };
                self.text.with(end.end(), write).0
            }
            None => end.integer(number, b','),
        }
    }
}
