//! The loop of the filler.
//!
//! It reads a tag and compares it with that of the step which probably comes next, since encoders
//! write fields in the order of their numbers; only another tag is looked up. The step's [`Op`]
//! says how the value is read and stored.
//!
//! ```text
//! place   0 . . . piece_start . . . . pos . . . . . . zone.to . . . . . have . . . end
//! strings         |<----------------- may lie here ------------------->|
//! fields                              |<-- begin --->|
//!                                     |<--------- end by here -------->|
//! reads                               |<-- at most SLACK bytes from the tag -->|
//! ```
//! A tag and a varint are read without a check, since [`SLACK`](super::SLACK) bytes can be read
//! from each place before `zone.to`. What was read may lie beyond the end of the field's message or
//! of the available bytes: the place after it is compared with `bound` before it is used.
//!
//! Invariants, between two fields:
//!
//! 1. `pos` is at a tag, or at the end of a message. All fields before it are stored as a whole,
//!    and nothing of the field at it. So the walk can read that field, and finds its error.
//! 2. `limit = min(zone.to, end)` and `bound = min(have, end)`, of the innermost message, and
//!    `pos <= bound`.
//! 3. `node` and `record` are of the innermost message, and `state.frames` has the outer ones.
//! 4. `expected` is the place of a step. The last step has the tag 0, which no field has.
//! 5. The next field begins after `pos`; at the end of a message, a frame is left. So the loop
//!    terminates.

use super::super::load::{u16_at, u32_at, u64_at, varint};
use super::super::nodes::{NONE, Node};
use super::super::state::{DecodeState, Frame};
use super::super::tables::Tables;
use super::super::walk::Zone;
use super::plan::{Op, Step};
use super::record_at;
use super::store::{COPIED_BYTES, copied, put, put_packed, sub};
use crate::message::Arena;
use crate::message::layout::Shape;
use crate::message::record::{Record, View};
use crate::message::storage::Storage;
use crate::schema::FieldId;
use crate::utf8;
use crate::varint::unzigzag;

/// One zone, and the plan for reading it.
#[derive(Clone, Copy)]
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

/// What comes next in the input.
enum Next<'p> {
    Field(Field<'p>),
    /// The end of the innermost message, and the place after it.
    End(usize),
}

/// A field whose tag is read.
struct Field<'p> {
    /// The place of its step in the plan.
    place: usize,
    step: &'p Step,
    op: Op,
    /// The place after the tag.
    value: usize,
}

/// The loop between two fields. All of its functions are inlined into one, so that place, bounds
/// and expected step stay in registers across all kinds of fields; a call would store and load them
/// for each field.
///
/// **Invariant:** a function that returns `None` leaves the field to the walk: the loop is at its
/// tag, with nothing of it stored.
struct Run<'r, 'p> {
    filler: Filler<'p>,
    state: &'r mut DecodeState,
    storage: &'r mut dyn Storage,
    /// The arena of the storage, which nothing else uses between two calls of the storage.
    arena: *mut Arena,
    record: Record,
    pos: usize,
    /// The end of the message.
    end: usize,
    /// The place from which on no field may begin.
    limit: usize,
    /// The end of the bytes that a field may use.
    bound: usize,
    node_place: u32,
    node: &'p Node,
    /// The step that probably comes next. The last step is for no entry.
    expected: usize,
}

impl Filler<'_> {
    /// Reads fields into `record` up to the first that is left to the walk; returns the record at
    /// that place, which is in the state.
    ///
    /// # Safety
    /// The steps belong to the tables and to the schema of the storage. `record`, the records of
    /// the frames, and the node of the state are of the same messages. From each place before
    /// `zone.to`, [`super::SLACK`] bytes can be read, and the piece holds what lies between the
    /// place of the state and `have`.
    pub(super) unsafe fn run<const COPIES: bool>(
        &self,
        state: &mut DecodeState,
        storage: &mut dyn Storage,
        record: Record,
    ) -> Record {
        let mut run = Run::new(*self, state, storage, record);
        loop {
            let (pos, depth) = (run.pos, run.state.frames.len());
            // SAFETY: as the caller guarantees.
            if unsafe { run.proceed::<COPIES>() }.is_none() {
                return run.finish();
            }
            debug_assert!(run.pos <= run.bound, "a field ends after its message");
            debug_assert!(run.pos > pos || run.state.frames.len() < depth, "no progress");
        }
    }
}

impl<'r, 'p> Run<'r, 'p> {
    #[inline(always)]
    fn new(
        filler: Filler<'p>,
        state: &'r mut DecodeState,
        storage: &'r mut dyn Storage,
        record: Record,
    ) -> Self {
        let (pos, end, node_place) = (state.pos, state.end, state.node);
        Run {
            arena: storage.arena(),
            record,
            pos,
            end,
            limit: filler.zone.to.min(end),
            bound: filler.have.min(end),
            node_place,
            node: filler.tables.node(node_place),
            expected: (state.next as usize).min(filler.steps.len() - 1),
            filler,
            state,
            storage,
        }
    }

    /// Writes the place of the loop into the state.
    #[inline(always)]
    fn finish(self) -> Record {
        let Run { filler, state, expected, .. } = self;
        (state.pos, state.end) = (self.pos, self.end);
        state.node = self.node_place;
        state.next = if expected + 1 < filler.steps.len() { expected as u32 } else { NONE };
        self.record
    }

    /// Reads one field, the beginning of a message or its end.
    ///
    /// # Safety
    /// As [`Filler::run`].
    #[inline(always)]
    unsafe fn proceed<const COPIES: bool>(&mut self) -> Option<()> {
        // SAFETY: as the caller guarantees.
        match unsafe { self.next()? } {
            Next::End(after) => self.end_message(after),
            Next::Field(field) if matches!(field.op, Op::Message | Op::Group) => {
                // SAFETY: likewise; the field holds records.
                unsafe { self.begin_message(field) }
            }
            Next::Field(field) => {
                // SAFETY: likewise.
                self.pos = unsafe { self.value::<COPIES>(&field)? };
                self.expected = field.step.next as usize;
                Some(())
            }
        }
    }

    /// Reads a tag; or finds the end of the message, which in a group is a tag, too.
    ///
    /// # Safety
    /// As [`Filler::run`].
    #[inline(always)]
    unsafe fn next(&self) -> Option<Next<'p>> {
        let pos = self.pos;
        if pos >= self.limit {
            // At the end of the zone the message goes on.
            let ends = pos == self.end && self.node.end_tag == 0;
            return ends.then_some(Next::End(pos));
        }
        // SAFETY: a field may begin at `pos`.
        let (tag, value) = unsafe { self.tag(pos)? };
        self.field_of(tag, value)
    }

    /// The tag at a place, and the place after it. Tags of up to two bytes, those of the numbers up
    /// to 2047, take one load.
    ///
    /// # Safety
    /// A field may begin at the place.
    #[inline(always)]
    unsafe fn tag(&self, pos: usize) -> Option<(u32, usize)> {
        let zone = self.filler.zone;
        // SAFETY: two bytes are within the slack.
        let two = unsafe { u16_at(zone.at(pos)) };
        let (tag, value) = if two & 0x80 == 0 {
            (u32::from(two & 0x7f), pos + 1)
        } else if two & 0x8000 == 0 {
            // 0bbbbbbb_1aaaaaaa as bbbbbbbaaaaaaa.
            (u32::from(two & 0x7f | two >> 1 & 0x3f80), pos + 2)
        } else {
            // SAFETY: a varint is within the slack.
            let (tag, bytes) = unsafe { varint(zone.at(pos)) };
            (u32::try_from(tag).ok()?, pos + bytes)
        };
        // A tag is never 0.
        (tag != 0 && value <= self.bound).then_some((tag, value))
    }

    /// The field with a tag, or the end of the group; `None` if the tag is neither.
    #[inline(always)]
    fn field_of(&self, tag: u32, value: usize) -> Option<Next<'p>> {
        let Filler { tables, steps, .. } = self.filler;
        let (place, step) = (self.expected, &steps[self.expected]);
        if step.tag == tag {
            return Some(Next::Field(Field { place, step, op: step.op, value }));
        }
        let found = tables.find(self.node, tag >> 3);
        if found == NONE {
            return (tag == self.node.end_tag).then_some(Next::End(value));
        }
        let (place, step) = (found as usize, &steps[found as usize]);
        let op = match tag {
            _ if step.tag == tag => step.op,
            // A list of numbers may come packed or not, whatever its field says.
            _ if step.other == tag => step.other_op,
            _ => return None,
        };
        Some(Next::Field(Field { place, step, op, value }))
    }

    /// Enters the message of a field.
    ///
    /// # Safety
    /// As [`Filler::run`]; the field holds records.
    #[inline(always)]
    unsafe fn begin_message(&mut self, field: Field<'p>) -> Option<()> {
        let Field { place, step, op, value } = field;
        let (body, inner_end) = match op {
            // SAFETY: the place of the value of a field.
            Op::Message => unsafe { self.length(value)? },
            _ => (value, self.end),
        };
        if self.state.frames.len() >= self.filler.depth_max {
            return None;
        }
        // SAFETY: as for `Run::arena`; the caller guarantees that the field is for records.
        let inner = unsafe { sub(self.record, &mut *self.arena, step)? };
        self.state.frames.push(Frame {
            end: self.end,
            start: self.pos,
            // Where fields are required there is no plan.
            seen: 0,
            record: self.record.address().expose_provenance(),
            entry: place as u32,
        });
        (self.record, self.pos) = (inner, body);
        self.enter(step.sub, inner_end);
        self.expected = (self.node.first() as usize).min(self.filler.steps.len() - 1);
        Some(())
    }

    /// Continues in the outer message, at `after`.
    #[inline(always)]
    fn end_message(&mut self, after: usize) -> Option<()> {
        let &frame = self.state.frames.as_slice().last()?;
        let step = &self.filler.steps[frame.entry as usize];
        let outer = record_at(frame.record);
        if step.shape == Shape::Map {
            self.storage.end_of_entry(FieldId(step.field), self.record, outer).ok()?;
            // The call has used the arena through the storage: a pointer made before is invalid.
            self.arena = self.storage.arena();
        }
        self.state.frames.pop();
        // Generated code writes no end into the frames of groups, as it is that of the outer
        // message.
        let end = if self.node.end_tag == 0 { frame.end } else { self.end };
        (self.record, self.pos) = (outer, after);
        self.enter(step.owner, end);
        self.expected = step.next as usize;
        Some(())
    }

    /// Sets the message that the loop is in.
    #[inline(always)]
    fn enter(&mut self, node: u32, end: usize) {
        let Filler { tables, zone, have, .. } = self.filler;
        self.end = end;
        (self.limit, self.bound) = (zone.to.min(end), have.min(end));
        (self.node_place, self.node) = (node, tables.node(node));
    }

    /// Reads and stores a value that is no message; returns the place after it.
    ///
    /// # Safety
    /// As [`Filler::run`].
    #[inline(always)]
    unsafe fn value<const COPIES: bool>(&mut self, field: &Field<'_>) -> Option<usize> {
        let &Field { step, op, value, .. } = field;
        macro_rules! varint {
            ($raw:ident => $made:expr) => {{
                // SAFETY: the place of the value of a field.
                let ($raw, after) = unsafe { self.varint(value)? };
                // SAFETY: the field is for values of that type.
                unsafe { self.put(step, $made, after) }
            }};
        }
        match op {
            Op::Leave | Op::Message | Op::Group => None,
            Op::Low32 => varint!(raw => raw as u32),
            Op::Whole64 => varint!(raw => raw),
            Op::Bool => varint!(raw => u8::from(raw != 0)),
            Op::Zigzag32 => varint!(raw => unzigzag(raw & u64::from(u32::MAX)) as u32),
            Op::Zigzag64 => varint!(raw => unzigzag(raw)),
            // Numbers below the first wrap to large ones: one comparison for both bounds.
            Op::Closed => varint!(raw => {
                if (raw as u32).wrapping_sub(step.first) > step.span {
                    return None;
                }
                raw as u32
            }),
            // SAFETY: a tag and a number are within the slack; the field is for such numbers.
            Op::Fixed32 => unsafe { self.put(step, u32_at(self.filler.zone.at(value)), value + 4) },
            // SAFETY: likewise.
            Op::Fixed64 => unsafe { self.put(step, u64_at(self.filler.zone.at(value)), value + 8) },
            // SAFETY: the place of the value of a field for views.
            Op::Bytes | Op::String => unsafe { self.text::<COPIES>(field) },
            // SAFETY: the place of the value of a field with a list.
            Op::Packed | Op::PackedClosed => unsafe { self.packed(field) },
            Op::SkipVarint => {
                // SAFETY: the place of the value of a field.
                let (_, after) = unsafe { self.varint(value)? };
                (after <= self.bound).then_some(after)
            }
            Op::SkipFixed64 => (value + 8 <= self.bound).then_some(value + 8),
            Op::SkipFixed32 => (value + 4 <= self.bound).then_some(value + 4),
            // SAFETY: the place of the value of a field.
            Op::SkipLength => unsafe { self.content(value).map(|(_, after)| after) },
        }
    }

    /// Stores a value that ends before `after`, if all of it is there.
    ///
    /// # Safety
    /// As [`Filler::run`]; the field holds values of that type.
    #[inline(always)]
    unsafe fn put<T: Copy>(&mut self, step: &Step, value: T, after: usize) -> Option<usize> {
        // SAFETY: as for `Run::arena`; the caller guarantees the type.
        (after <= self.bound && unsafe { put(self.record, &mut *self.arena, step, value) })
            .then_some(after)
    }

    /// A varint and the place after it, which may be behind the bound.
    ///
    /// # Safety
    /// It is the value of a field that begins before `zone.to`.
    #[inline(always)]
    unsafe fn varint(&self, value: usize) -> Option<(u64, usize)> {
        // SAFETY: a tag and a varint are within the slack.
        let (raw, bytes) = unsafe { varint(self.filler.zone.at(value)) };
        (bytes != 0).then_some((raw, value + bytes))
    }

    /// Where the content of a field with a length begins and ends; all of it is in the message.
    ///
    /// # Safety
    /// As [`Run::varint`].
    #[inline(always)]
    unsafe fn length(&self, value: usize) -> Option<(usize, usize)> {
        // SAFETY: the caller guarantees the place.
        let (length, body) = unsafe { self.varint(value)? };
        // A difference, as the sum of `body` and any `length` could wrap.
        let fits = body <= self.bound && length <= (self.end - body) as u64;
        fits.then(|| (body, body + length as usize))
    }

    /// The same, if all of it is available.
    ///
    /// # Safety
    /// As [`Run::varint`].
    #[inline(always)]
    unsafe fn content(&self, value: usize) -> Option<(usize, usize)> {
        // SAFETY: the caller guarantees the place.
        unsafe { self.length(value) }.filter(|(_, after)| *after <= self.filler.have)
    }

    /// Stores a view of a text, or of a copy of it.
    ///
    /// # Safety
    /// As [`Filler::run`]; the field holds views.
    #[inline(always)]
    unsafe fn text<const COPIES: bool>(&mut self, field: &Field<'_>) -> Option<usize> {
        let Filler { piece, have, .. } = self.filler;
        // SAFETY: the place of the value of a field.
        let (body, after) = unsafe { self.content(field.value)? };
        // SAFETY: they lie in the piece.
        let text = unsafe { std::slice::from_raw_parts(piece.wrapping_add(body), after - body) };
        if field.op == Op::String && !utf8::is_utf8(text) {
            return None;
        }
        let mut view = View::of(text)?;
        // SAFETY: as for `Run::arena`.
        let memory: &mut Arena = unsafe { &mut *self.arena };
        if COPIES {
            let room = have - after >= COPIED_BYTES;
            let from = piece.wrapping_add(body);
            // SAFETY: that is the text; `room` says whether `COPIED_BYTES` bytes can be read after
            // it, which a reference to the text alone would not allow.
            view.start = unsafe { copied(memory, from, text.len(), room)? };
        }
        // SAFETY: the caller guarantees that the field is for views.
        unsafe { put(self.record, memory, field.step, view) }.then_some(after)
    }

    /// Appends the numbers of a packed list. The walk reads a malformed one again from its start,
    /// so nothing of it may stay.
    ///
    /// # Safety
    /// As [`Filler::run`]; the field holds a list of numbers.
    #[inline(always)]
    unsafe fn packed(&mut self, field: &Field<'_>) -> Option<usize> {
        // SAFETY: the place of the value of a field.
        let (body, after) = unsafe { self.content(field.value)? };
        let start = self.filler.piece.wrapping_add(body);
        // SAFETY: they lie in the piece.
        let bytes = unsafe { std::slice::from_raw_parts(start, after - body) };
        // SAFETY: as for `Run::arena`; the caller guarantees that it is a list of numbers.
        unsafe { put_packed(self.record, &mut *self.arena, field.step, field.op, bytes) }
            .then_some(after)
    }
}
