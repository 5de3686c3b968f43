//! The loop of the filler.

use super::super::load::{u16_at, u32_at, u64_at, varint};
use super::super::nodes::NONE;
use super::super::state::{Frame, State};
use super::super::tables::Tables;
use super::super::walk::Zone;
use super::plan::{Op, Step};
use super::record_at;
use crate::message::Arena;
use crate::message::layout::Shape;
use crate::message::record::{List, Record, View};
use crate::message::storage::Storage;
use crate::schema::FieldId;
use crate::utf8;
use crate::varint::unzigzag;

/// One zone, and the plan for reading it.
pub(super) struct Filler<'p> {
    pub(super) tables: &'p Tables,
    pub(super) steps: &'p [Step],
    pub(super) zone: Zone,
    /// The end of the available bytes.
    pub(super) have: usize,
    /// The address of place 0, as if contiguous with the piece: strings are taken relative to it.
    pub(super) piece: *const u8,
    pub(super) depth_max: usize,
}

/// Bytes that are copied at a time.
const COPIED_BYTES: usize = 16;

impl Filler<'_> {
    /// Reads fields into `record` up to the first that is left to the walk; returns the record at
    /// that place, which is in the state.
    ///
    /// # Safety
    /// The steps belong to the tables and to the schema of the storage. `record`, the records of
    /// the frames, and the node of the state are of the same messages. From each place before
    /// `zone.to`, [`super::SLACK`] bytes can be read, and the piece holds what lies between the
    /// place of the state and `have`.
    // Long, as the loop keeps place, bounds and expected step in registers across all kinds of
    // fields; a call would have it stored and loaded for each field.
    pub(super) unsafe fn run<const COPIES: bool>(
        &self,
        state: &mut State,
        storage: &mut dyn Storage,
        record: Record,
    ) -> Record {
        let &Filler { tables, steps, zone, have, piece, depth_max } = self;
        let mut arena: *mut Arena = storage.arena();
        let (mut record, mut pos, mut end) = (record, state.pos, state.end);
        let (mut limit, mut bound) = (zone.to.min(end), have.min(end));
        let mut node_place = state.node;
        let mut node = tables.node(node_place);
        // The last step is for no entry.
        let mut expected = (state.next as usize).min(steps.len() - 1);
        // Each `break` is at the tag of a field that is left to the walk, with nothing of it
        // stored.
        'fields: loop {
            // The end of a message, or of the zone.
            let mut over = pos >= limit;
            let mut after = pos;
            let (mut place, mut op, mut value) = (expected, Op::Leave, pos);
            if over {
                if pos != end || node.end_tag != 0 {
                    break;
                }
            } else {
                // SAFETY: a field may begin at `pos`.
                let two = unsafe { u16_at(zone.at(pos)) };
                let tag = if two & 0x80 == 0 {
                    value = pos + 1;
                    u32::from(two & 0x7f)
                } else if two & 0x8000 == 0 {
                    value = pos + 2;
                    u32::from(two & 0x7f | two >> 1 & 0x3f80)
                } else {
                    // SAFETY: likewise.
                    let (tag, bytes) = unsafe { varint(zone.at(pos)) };
                    let Ok(tag) = u32::try_from(tag) else { break };
                    value = pos + bytes;
                    tag
                };
                // A tag is never 0.
                if tag == 0 || value > bound {
                    break;
                }
                let step = &steps[place];
                if step.tag == tag {
                    op = step.op;
                } else {
                    let found = tables.find(node, tag >> 3);
                    if found != NONE {
                        place = found as usize;
                        let step = &steps[place];
                        op = if step.tag == tag {
                            step.op
                        } else if step.other == tag {
                            step.other_op
                        } else {
                            Op::Leave
                        };
                    } else if tag == node.end_tag {
                        over = true;
                        after = value;
                    }
                }
            }
            if over {
                let Some(&frame) = state.frames.as_slice().last() else { break };
                let step = &steps[frame.entry as usize];
                let outer = record_at(frame.record);
                if step.shape == Shape::Map {
                    if storage.end_of_entry(FieldId(step.field), record, outer).is_err() {
                        break;
                    }
                    arena = storage.arena();
                }
                state.frames.pop();
                // Generated code writes no end into the frames of groups, as it is that of the
                // outer message.
                if node.end_tag == 0 {
                    end = frame.end;
                }
                (record, pos) = (outer, after);
                (limit, bound) = (zone.to.min(end), have.min(end));
                node_place = step.owner;
                node = tables.node(node_place);
                expected = step.next as usize;
                continue;
            }
            let step = &steps[place];
            // SAFETY: the arena of the storage, which nothing else uses until the next call of the
            // storage.
            let memory: &mut Arena = unsafe { &mut *arena };
            macro_rules! varint {
                ($raw:ident => $made:expr) => {{
                    // SAFETY: a tag and a varint are within the slack.
                    let ($raw, bytes) = unsafe { varint(zone.at(value)) };
                    after = value + bytes;
                    // SAFETY: the field is for values of that type.
                    if bytes == 0 || after > bound || !unsafe { put(record, memory, step, $made) } {
                        break 'fields;
                    }
                }};
            }
            macro_rules! length {
                () => {{
                    // SAFETY: likewise.
                    let (length, bytes) = unsafe { varint(zone.at(value)) };
                    let body = value + bytes;
                    if bytes == 0 || body > bound || length > (end - body) as u64 {
                        break 'fields;
                    }
                    (body, body + length as usize)
                }};
            }
            match op {
                Op::Leave => break,
                Op::Low32 => varint!(raw => raw as u32),
                Op::Whole64 => varint!(raw => raw),
                Op::Bool => varint!(raw => u8::from(raw != 0)),
                Op::Zigzag32 => varint!(raw => unzigzag(raw & u64::from(u32::MAX)) as u32),
                Op::Zigzag64 => varint!(raw => unzigzag(raw)),
                Op::Closed => varint!(raw => {
                    if (raw as u32).wrapping_sub(step.first) > step.span {
                        break 'fields;
                    }
                    raw as u32
                }),
                Op::Fixed32 => {
                    after = value + 4;
                    // SAFETY: a tag and a number are within the slack.
                    let number = unsafe { u32_at(zone.at(value)) };
                    // SAFETY: the field is for such numbers.
                    if after > bound || !unsafe { put(record, memory, step, number) } {
                        break;
                    }
                }
                Op::Fixed64 => {
                    after = value + 8;
                    // SAFETY: a tag and a number are within the slack.
                    let number = unsafe { u64_at(zone.at(value)) };
                    // SAFETY: the field is for such numbers.
                    if after > bound || !unsafe { put(record, memory, step, number) } {
                        break;
                    }
                }
                Op::Bytes | Op::String => {
                    let body;
                    (body, after) = length!();
                    if after > have {
                        break;
                    }
                    // SAFETY: they lie in the piece.
                    let text = unsafe {
                        std::slice::from_raw_parts(piece.wrapping_add(body), after - body)
                    };
                    if op == Op::String && !utf8::is_utf8(text) {
                        break;
                    }
                    let Some(mut view) = View::of(text) else { break };
                    if COPIES {
                        let room = have - after >= COPIED_BYTES;
                        // SAFETY: `room` says whether `COPIED_BYTES` bytes can be read after the
                        // text.
                        let Some(copy) = (unsafe { copied(memory, text, room) }) else { break };
                        view.start = copy;
                    }
                    // SAFETY: the field is for views.
                    if !unsafe { put(record, memory, step, view) } {
                        break;
                    }
                }
                Op::Packed | Op::PackedClosed => {
                    let body;
                    (body, after) = length!();
                    if after > have {
                        break;
                    }
                    // SAFETY: they lie in the piece.
                    let bytes = unsafe {
                        std::slice::from_raw_parts(piece.wrapping_add(body), after - body)
                    };
                    // The walk reads such a list again from its start, so nothing of a malformed
                    // one may stay. SAFETY: the slot of a list of such numbers.
                    if !unsafe { Self::list(record, memory, step, op, bytes) } {
                        break;
                    }
                }
                Op::Message | Op::Group => {
                    let (body, inner_end) = match op {
                        Op::Message => length!(),
                        _ => (value, end),
                    };
                    if state.frames.len() >= depth_max {
                        break;
                    }
                    // SAFETY: the field is for records.
                    let Some(inner) = (unsafe { sub(record, memory, step) }) else { break };
                    let outer = record.address().expose_provenance();
                    let entry = place as u32;
                    state.frames.push(Frame { end, start: pos, seen: 0, record: outer, entry });
                    (record, pos, end) = (inner, body, inner_end);
                    (limit, bound) = (zone.to.min(end), have.min(end));
                    node_place = step.sub;
                    node = tables.node(node_place);
                    expected = (node.first() as usize).min(steps.len() - 1);
                    continue;
                }
                Op::SkipVarint => {
                    // SAFETY: a tag and a varint are within the slack.
                    let (_, bytes) = unsafe { varint(zone.at(value)) };
                    after = value + bytes;
                    if bytes == 0 || after > bound {
                        break;
                    }
                }
                Op::SkipFixed64 | Op::SkipFixed32 => {
                    after = value + if op == Op::SkipFixed64 { 8 } else { 4 };
                    if after > bound {
                        break;
                    }
                }
                Op::SkipLength => {
                    (_, after) = length!();
                    if after > have {
                        break;
                    }
                }
            }
            pos = after;
            expected = step.next as usize;
        }
        (state.pos, state.end) = (pos, end);
        state.node = node_place;
        state.next = if expected + 1 < steps.len() { expected as u32 } else { NONE };
        record
    }

    /// Reads a complete packed list; false, and then nothing of it is kept, if it is malformed or
    /// has a number that its closed enum does not have.
    ///
    /// # Safety
    /// The step is of a list of numbers in the message of the record.
    unsafe fn list(record: Record, arena: &mut Arena, step: &Step, op: Op, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        // SAFETY: the caller guarantees that the step is of a list in the record's message.
        let list = unsafe { list_of(record, step) };
        let before = list.len;
        let Some(numbers) = step.numbers else { return false };
        // SAFETY: the caller guarantees that it is a list of such numbers.
        let read = unsafe { list.append_packed(arena, numbers, bytes) };
        let mut good = read == bytes.len();
        if good && op == Op::PackedClosed {
            // SAFETY: a list of numbers of an enum.
            let new = unsafe { &list.values::<u32>()[before as usize..] };
            let outside = |number: &u32| number.wrapping_sub(step.first) > step.span;
            good = !new.iter().fold(false, |found, number| found | outside(number));
        }
        if !good {
            list.len = before;
        }
        good
    }
}

/// Sets the presence bit, and clears those of the rest of the oneof.
///
/// # Safety
/// The step is of a field in the message of the record.
#[inline(always)]
unsafe fn mark(record: Record, step: &Step) {
    // SAFETY: within the header, which is always written.
    unsafe {
        let word = record.at(step.presence).cast::<u64>();
        word.write(word.read() & !step.siblings | step.mask);
    }
}

/// # Safety
/// As [`mark`].
#[inline(always)]
unsafe fn is_there(record: Record, step: &Step) -> bool {
    // SAFETY: within the header, which is always written.
    unsafe { record.at(step.presence).cast::<u64>().read() & step.mask != 0 }
}

/// The list of a repeated field, made if there is none.
///
/// # Safety
/// As [`mark`]; the field is a list. The record is used through nothing else meanwhile.
#[inline(always)]
unsafe fn list_of<'m>(record: Record, step: &Step) -> &'m mut List {
    // SAFETY: the caller guarantees that the step is of a list in the record's message.
    unsafe {
        let list = record.at(step.offset).cast::<List>();
        if !is_there(record, step) {
            list.write(List::EMPTY);
            mark(record, step);
        }
        &mut *list.as_ptr()
    }
}

/// Stores a value, or appends it to a list; false where there is no memory.
///
/// # Safety
/// As [`mark`]; the field holds values of that type.
#[inline(always)]
unsafe fn put<T: Copy>(record: Record, arena: &mut Arena, step: &Step, value: T) -> bool {
    // SAFETY: the caller guarantees that the step is of a value of type `T` in the record's
    // message.
    unsafe {
        if step.shape == Shape::Single {
            record.at(step.offset).cast::<T>().write(value);
            mark(record, step);
            return true;
        }
        list_of(record, step).push(arena, value).is_some()
    }
}

/// The record for another message of a field: a new one, unless the field is single and has one.
///
/// # Safety
/// As [`mark`]; the field holds records.
#[inline(always)]
unsafe fn sub(record: Record, arena: &mut Arena, step: &Step) -> Option<Record> {
    // SAFETY: the caller guarantees that the step is of a record in the record's message.
    unsafe {
        let slot = record.at(step.offset).cast::<Record>();
        if step.shape == Shape::Single && is_there(record, step) {
            return Some(slot.read());
        }
        let inner = Record::of_bytes(arena, step.first, step.span)?;
        match step.shape {
            Shape::Single => {
                slot.write(inner);
                mark(record, step);
            }
            Shape::List => list_of(record, step).push(arena, inner)?,
            Shape::Map => {}
        }
        Some(inner)
    }
}

/// A copy of a text, short ones in pieces.
///
/// # Safety
/// With `room`, [`COPIED_BYTES`] more can be read after it.
#[inline(always)]
unsafe fn copied(arena: &mut Arena, text: &[u8], room: bool) -> Option<*const u8> {
    let copy = arena.alloc(text.len())?;
    if room && text.len() <= 4 * COPIED_BYTES {
        let mut at = 0;
        while at < text.len() {
            // SAFETY: the last piece ends at most one piece after the text; the arena has spare
            // bytes behind each chunk, and what lies behind the copy is not given away yet.
            unsafe {
                let piece = text.as_ptr().add(at).cast::<[u8; COPIED_BYTES]>().read_unaligned();
                copy.add(at).cast::<[u8; COPIED_BYTES]>().write_unaligned(piece);
            }
            at += COPIED_BYTES;
        }
    } else {
        // SAFETY: just allocated with that length, so it overlaps nothing.
        unsafe { copy.as_ptr().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    }
    Some(copy.as_ptr())
}
