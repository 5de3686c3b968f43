//! Messages in memory into JSON: what [`JsonSink`] makes of their events, without events.
//!
//! A record is printed by the [`Steps`] of its type, with the end of the text in a register and one
//! question for room before each value. Whatever is printed has a comma behind it, which becomes
//! the bracket if nothing follows: so nobody asks what comes first.
//!
//! ```text
//!   {"a":1,"b":[1,2,      -->      {"a":1,"b":[1,2],      -->      {"a":1,"b":[1,2]},
//! ```
//! Messages that have a form of their own, extensions, and what nests deep are left to the events.

use std::ptr::NonNull;

use super::mapping::{EnumName, Kind, List};
use super::options::{Defaults, Enums, Unknown};
use super::print::{self, Base64};
use super::scan;
use super::steps::{RecordSteps, Step, Steps};
use super::write::JsonSink;
use super::{PrintError, WriteProblem};
use crate::message::MessageRef;
use crate::message::map::map_of;
use crate::message::present::is_zero;
use crate::message::record::{self, Record, Slot, View};
use crate::schema::{EnumId, MessageId};
use crate::utf8;

/// The end of the text, so far.
type End = NonNull<u8>;

/// Bytes that are asked for before a value, beside its key: no number, bracket or name of a truth
/// takes more, with what stands around it.
const ROOM: usize = print::ROOM + 32;

/// How deep messages nest before the events take over, which need no stack.
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
            Printer::new(sink).print(message.layout.message, record)
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

struct Printer<'k, 'm, 's> {
    sink: &'k mut JsonSink<'m, 's>,
    /// One past the room of the text.
    limit: *mut u8,
    steps: &'s Steps,
    /// Keys; [`scan::WIDE`] bytes follow the last.
    texts: &'s [u8],
    refuse_unknown: bool,
}

impl<'k, 'm, 's> Printer<'k, 'm, 's> {
    fn new(sink: &'k mut JsonSink<'m, 's>) -> Printer<'k, 'm, 's> {
        sink.reset();
        let (steps, texts) = sink.mapping.steps(sink.options.names);
        let refuse_unknown = sink.options.unknown == Unknown::Refuse;
        Printer { sink, limit: std::ptr::null_mut(), steps, texts, refuse_unknown }
    }

    fn print(&mut self, message: MessageId, record: Record) -> Option<()> {
        let end = self.enter(ROOM);
        // SAFETY: there is the room, and the record is of that message of the schema.
        let end = unsafe { self.message(end, message, record, DEPTH_MAX)? };
        // SAFETY: a message has a comma behind it.
        self.leave(unsafe { end.sub(1) });
        Some(())
    }

    /// From the text as the sink has it to its end, with so much room behind it.
    #[cold]
    #[inline(never)]
    fn enter(&mut self, room: usize) -> End {
        let out = &mut self.sink.out;
        out.reserve(room);
        self.limit = out.as_mut_ptr().wrapping_add(out.capacity());
        // SAFETY: within the room of the text, which is somewhere.
        unsafe { NonNull::new_unchecked(out.as_mut_ptr().add(out.len())) }
    }

    /// Tells the sink where the text ends: all up to there is written.
    fn leave(&mut self, end: End) {
        let out = &mut self.sink.out;
        // SAFETY: the end is within the room of the text, and all before it is written.
        unsafe { out.set_len(end.as_ptr().offset_from_unsigned(out.as_ptr())) };
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, end: End, room: usize) -> End {
        self.leave(end);
        self.enter(room)
    }

    /// So much room behind the end, which may move.
    #[inline(always)]
    fn room(&mut self, end: End, room: usize) -> End {
        if self.limit.addr() - end.as_ptr().addr() < room {
            return self.grow(end, room);
        }
        end
    }

    /// A message and a comma; `None` if there is no JSON for it.
    ///
    /// # Safety
    /// Here and below: there are [`ROOM`] bytes behind `end`, and records and slots are those of
    /// the schema's layouts.
    #[inline(always)]
    unsafe fn message(
        &mut self,
        end: End,
        message: MessageId,
        record: Record,
        depth: u32,
    ) -> Option<End> {
        let steps = self.steps.of(message.index());
        let odd = record.extra().is_some() && self.is_odd(record);
        if !steps.plain || depth == 0 || odd {
            return self.by_events(end, message, record);
        }
        // SAFETY: as the caller says.
        unsafe { self.record(end, steps, record, depth - 1) }
    }

    #[cold]
    fn is_odd(&self, record: Record) -> bool {
        !record.extensions().is_empty() || self.refuse_unknown && !record.unknown().is_empty()
    }

    #[inline(never)]
    fn by_events(&mut self, end: End, message: MessageId, record: Record) -> Option<End> {
        self.leave(end);
        let schema = self.sink.mapping.schema();
        by_events(self.sink, MessageRef::new(schema, message, Some(record)))?;
        self.sink.out.push(b',');
        Some(self.enter(ROOM))
    }

    /// A message that is an object with a key for each field, and a comma.
    unsafe fn record(
        &mut self,
        end: End,
        steps: &'s RecordSteps,
        record: Record,
        depth: u32,
    ) -> Option<End> {
        // SAFETY: as the caller says; room is asked for before each value.
        unsafe {
            let mut end = put(end, b"{");
            for (word, steps) in steps.steps.chunks(64).enumerate() {
                let mut left = record.presence_word(word as u32);
                while left != 0
                    && let Some(step) = steps.get(left.trailing_zeros() as usize)
                {
                    left &= left - 1;
                    let slot = record.at(step.offset);
                    end = match step.list {
                        List::Single => self.field(end, step, slot, depth)?,
                        List::Repeated => self.list(end, step, slot, depth)?,
                        List::Map => self.map(end, step, slot, depth)?,
                    };
                }
            }
            Some(close(self.room(end, ROOM), b"},"))
        }
    }

    /// The key of a field; gives where its value begins.
    #[inline(always)]
    unsafe fn key(&mut self, end: End, step: &Step) -> End {
        let length = step.key_len as usize;
        let end = self.room(end, length.max(scan::WIDE) + ROOM);
        let key = self.texts.get(step.key_start as usize..).unwrap_or_default();
        // SAFETY: there is room for it, and for a block.
        unsafe {
            match key.first_chunk::<{ scan::WIDE }>() {
                Some(block) if length <= scan::WIDE => end.cast().write(*block),
                _ => end.copy_from_nonoverlapping(NonNull::from(key).cast(), length),
            }
            end.add(length)
        }
    }

    /// A field that is one value: nothing, if that stands for its absence.
    #[inline(always)]
    unsafe fn field(&mut self, end: End, step: &Step, slot: Slot, depth: u32) -> Option<End> {
        // SAFETY: as the caller says; a key has room for a value behind it.
        unsafe {
            let value = self.key(end, step);
            if step.implicit && is_zero(step.cell, slot) {
                return Some(end);
            }
            self.value(value, step, slot, depth)
        }
    }

    /// A value and a comma.
    #[inline(always)]
    unsafe fn value(&mut self, end: End, step: &Step, slot: Slot, depth: u32) -> Option<End> {
        // SAFETY: as the caller says; a slot holds what its kind says.
        unsafe {
            let end = match step.kind {
                Kind::Int64 => quoted(end, slot.cast::<i64>().read()),
                Kind::Uint64 => quoted(end, slot.cast::<u64>().read()),
                Kind::Int32 => integer(end, slot.cast::<i32>().read()),
                Kind::Uint32 => integer(end, slot.cast::<u32>().read()),
                Kind::Double => double(end, slot.cast::<f64>().read()),
                Kind::Float => float(end, slot.cast::<f32>().read()),
                Kind::Bool => truth(end, slot.read()),
                Kind::String => {
                    let end = self.string(end, step, slot.cast::<View>().read().bytes())?;
                    return Some(put(end, b","));
                }
                Kind::Bytes => self.bytes(end, slot.cast::<View>().read().bytes()),
                Kind::Enum(id) => self.enumeration(end, id, slot.cast::<i32>().read()),
                Kind::Null => put(end, b"null"),
                Kind::Message(message) => {
                    return self.message(end, message, slot.cast::<Record>().read(), depth);
                }
            };
            Some(put(end, b","))
        }
    }

    /// A repeated field.
    #[inline(never)]
    unsafe fn list(&mut self, end: End, step: &Step, slot: Slot, depth: u32) -> Option<End> {
        // SAFETY: as the caller says; the slot of a repeated field holds a list.
        unsafe {
            let list = slot.cast::<record::List>().read();
            if list.len == 0 {
                return Some(end);
            }
            let mut end = put(self.key(end, step), b"[");
            let cell_bytes = step.cell.bytes() as usize;
            let mut cell = NonNull::new_unchecked(list.start);
            for _ in 0..list.len {
                end = self.room(end, ROOM);
                end = self.value(end, step, cell, depth)?;
                cell = cell.add(cell_bytes);
            }
            Some(close(self.room(end, ROOM), b"],"))
        }
    }

    /// A map.
    #[inline(never)]
    unsafe fn map(&mut self, end: End, step: &Step, slot: Slot, depth: u32) -> Option<End> {
        let Kind::Message(entry) = step.kind else { return None };
        let [key, value] = &*self.steps.of(entry.index()).steps else { return None };
        // SAFETY: as the caller says; the slot of a map field holds one, whose entries have both.
        unsafe {
            let entries = map_of(slot).records();
            if entries.is_empty() {
                return Some(end);
            }
            let mut end = put(self.key(end, step), b"{");
            for entry in entries {
                end = self.room(end, ROOM);
                end = self.map_key(end, key, entry.at(key.offset))?;
                end = self.room(put(end, b":"), ROOM);
                end = self.value(end, value, entry.at(value.offset), depth)?;
            }
            Some(close(self.room(end, ROOM), b"},"))
        }
    }

    /// The key of an entry, which is a string whatever its type.
    unsafe fn map_key(&mut self, end: End, step: &Step, slot: Slot) -> Option<End> {
        // SAFETY: as the caller says; a slot holds what its kind says.
        Some(unsafe {
            match step.kind {
                Kind::Int64 => quoted(end, slot.cast::<i64>().read()),
                Kind::Uint64 => quoted(end, slot.cast::<u64>().read()),
                Kind::Int32 => quoted(end, slot.cast::<i32>().read()),
                Kind::Uint32 => quoted(end, slot.cast::<u32>().read()),
                Kind::Bool => put(truth(put(end, b"\""), slot.read()), b"\""),
                Kind::String => self.string(end, step, slot.cast::<View>().read().bytes())?,
                _ => return None,
            }
        })
    }

    /// A string in quotes; there is room for a comma and more behind it.
    #[inline]
    unsafe fn string(&mut self, end: End, step: &Step, text: &[u8]) -> Option<End> {
        if !step.utf8 && !utf8::is_utf8(text) {
            let _ = self.sink.no_utf8(step.field);
            return None;
        }
        let end = self.room(end, text.len() + ROOM);
        // SAFETY: there is room for the text and more.
        unsafe {
            let end = put(end, b"\"");
            match scan::copy_if_plain(end.as_ptr(), text) {
                true => Some(put(end.add(text.len()), b"\"")),
                false => Some(put(self.escaped(end, text), b"\"")),
            }
        }
    }

    #[inline(never)]
    fn escaped(&mut self, end: End, text: &[u8]) -> End {
        self.leave(end);
        scan::escape(&mut self.sink.out, text, None, None);
        self.enter(ROOM)
    }

    /// Bytes in quotes.
    #[inline(never)]
    fn bytes(&mut self, end: End, bytes: &[u8]) -> End {
        self.leave(end);
        let (out, mut base64) = (&mut self.sink.out, Base64::default());
        out.push(b'"');
        base64.push(out, bytes);
        base64.finish(out);
        out.push(b'"');
        self.enter(ROOM)
    }

    /// The name of a number, or the number.
    #[inline(always)]
    unsafe fn enumeration(&mut self, end: End, id: EnumId, number: i32) -> End {
        let name = match self.sink.options.enums {
            Enums::Name => self.sink.mapping.enum_name(id, number),
            Enums::Number => None,
        };
        // SAFETY: there is room for a number, and for the name if it is asked for.
        unsafe {
            match name {
                Some(EnumName::Quoted(name)) => {
                    let end = self.room(end, name.len() + ROOM);
                    scan::copy_few(end.as_ptr(), name.as_bytes());
                    end.add(name.len())
                }
                Some(EnumName::Bare(name)) => {
                    self.leave(end);
                    print::quote(&mut self.sink.out, name);
                    self.enter(ROOM)
                }
                None => integer(end, number),
            }
        }
    }
}

/// Bytes, behind which the text goes on.
///
/// # Safety
/// Here and below: there are [`ROOM`] bytes behind `end`.
#[inline(always)]
unsafe fn put<const N: usize>(end: End, bytes: &[u8; N]) -> End {
    // SAFETY: as the caller says; nobody puts as many.
    unsafe {
        end.cast().write(*bytes);
        end.add(N)
    }
}

/// A bracket in the place of the comma that is behind the last element, if there is one.
#[inline(always)]
unsafe fn close<const N: usize>(end: End, bytes: &[u8; N]) -> End {
    // SAFETY: a bracket stands before the first element, so there is a byte.
    unsafe {
        let last = end.sub(1);
        put(if last.read() == b',' { last } else { end }, bytes)
    }
}

#[inline(always)]
unsafe fn truth(end: End, value: u8) -> End {
    let (text, length) = if value != 0 { (b"true ", 4) } else { (b"false", 5) };
    // SAFETY: as the caller says.
    unsafe {
        put(end, text);
        end.add(length)
    }
}

#[inline(always)]
unsafe fn integer(end: End, value: impl print::Integer) -> End {
    // SAFETY: as the caller says; here and below, what is written ends where something is.
    unsafe { NonNull::new_unchecked(print::write_integer(end.as_ptr(), value)) }
}

#[inline(always)]
unsafe fn quoted(end: End, value: impl print::Integer) -> End {
    // SAFETY: as above.
    unsafe { NonNull::new_unchecked(print::write_quoted(end.as_ptr(), value)) }
}

#[inline(always)]
unsafe fn double(end: End, value: f64) -> End {
    // SAFETY: as above.
    unsafe { NonNull::new_unchecked(print::write_double(end.as_ptr(), value)) }
}

#[inline(always)]
unsafe fn float(end: End, value: f32) -> End {
    // SAFETY: as above.
    unsafe { NonNull::new_unchecked(print::write_float(end.as_ptr(), value)) }
}
