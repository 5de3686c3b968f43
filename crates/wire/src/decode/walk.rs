//! The walk over one piece of input, shared by both decoders.
//!
//! The hot loop, [`Walk::fields`], reads without checks of the end of the input. So it works on
//! *zones*: bytes after which [`SLACK`] more can be read.
//!
//! ```text
//!   residue | piece ..........................................| next piece
//!   [- seam, copied -]
//!           [- in place, up to SLACK before the end -]
//!                                       [- tail, copied, zeros after -]
//! ```
//! An incomplete field in the tail is kept for the next piece: at most 19 bytes, tag and value.
//! Strings are never copied: once tag and length are read, they are taken from the piece.

use super::engine::Engine;
use super::error::ErrorKind;
use super::held::Held;
use super::load::SLACK;
use super::nodes::Entry;
use super::state::{DecodeState, Frame, Why, Within};
use super::tables::Tables;
use crate::schema::{MessageId, Schema};
use crate::sink::{Sink, SinkResult, Wants};

pub(super) type Step<T = ()> = Result<T, ErrorKind>;

#[inline(always)]
pub(super) fn proceed(flow: SinkResult) -> Step {
    flow.map_err(|_| ErrorKind::Stopped)
}

/// One piece of input, the rest of those before, and the sink.
pub(super) struct Walk<'w, 'a, S> {
    pub(super) schema: &'w Schema,
    pub(super) tables: &'w Tables,
    pub(super) state: &'w mut DecodeState,
    pub(super) sink: &'w mut S,
    /// The bytes of this piece; `piece_start` is the place of the first.
    pub(super) piece: &'a [u8],
    pub(super) piece_start: usize,
    /// The rest of earlier pieces, with the first bytes of this piece after it.
    pub(super) seam: &'a [u8],
    pub(super) seam_start: usize,
    /// No piece follows: an incomplete field in it is an error.
    pub(super) last: bool,
    pub(super) held: Option<&'a Held>,
    pub(super) depth_max: usize,
    pub(super) root_end: usize,
    pub(super) engine: Engine<'w>,
}

/// The bytes of a zone.
#[derive(Clone, Copy)]
pub(super) struct Zone {
    /// The address of place 0 of the input, as if contiguous with the zone.
    pub(super) base: *const u8,
    /// The place from which on no field may begin.
    pub(super) to: usize,
}

impl Zone {
    fn new(bytes: &[u8], start: usize, to: usize) -> Zone {
        Zone { base: bytes.as_ptr().wrapping_sub(start), to }
    }

    #[inline(always)]
    pub(super) fn at(self, pos: usize) -> *const u8 {
        self.base.wrapping_add(pos)
    }
}

/// A field whose tag is read.
#[derive(Clone, Copy)]
pub(super) struct Field {
    /// The place of the tag.
    pub(super) start: usize,
    /// The place after the tag.
    pub(super) value: usize,
    /// 0 where the tag is not read as a whole.
    pub(super) number: u32,
    /// The end of the bytes that it may use.
    pub(super) bound: usize,
}

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// The end of the available bytes.
    #[inline(always)]
    pub(super) fn have(&self) -> usize {
        self.piece_start + self.piece.len()
    }

    /// Reads the rest of earlier pieces. True if all of that is done.
    pub(super) fn over_seam(&mut self) -> Step<bool> {
        // With zeros after it.
        let mut bytes = [0; 4 * SLACK];
        bytes[..self.seam.len()].copy_from_slice(self.seam);
        let whole = self.seam_start + self.seam.len() == self.have();
        let to = if whole { self.have() } else { self.piece_start };
        self.over_zone(Zone::new(&bytes, self.seam_start, to))?;
        Ok(self.state.pos >= self.piece_start)
    }

    /// Reads the piece, up to the last complete field.
    #[inline]
    pub(super) fn over_piece(&mut self) -> Step {
        match self.engine {
            #[cfg(feature = "native")]
            Engine::Native(native) => self.over_piece_natively(native)?,
            Engine::Table(_) if self.piece.len() > SLACK => self.over_fields(self.middle())?,
            Engine::Table(_) => {}
        }
        self.over_tail()
    }

    #[inline]
    fn over_tail(&mut self) -> Step {
        let pos = self.state.pos;
        if pos >= self.have() && self.state.end != pos {
            return Ok(());
        }
        let rest = &self.piece[pos - self.piece_start..];
        if rest.len() > SLACK {
            // Text that waits for more.
            return Ok(());
        }
        let mut bytes = [0; 2 * SLACK];
        bytes[..rest.len()].copy_from_slice(rest);
        self.over_fields(Zone::new(&bytes, pos, self.have()))
    }

    pub(super) fn over_zone(&mut self, zone: Zone) -> Step {
        loop {
            let done = match self.state.within {
                Within::Fields => {
                    // SAFETY: of each zone, SLACK bytes can be read from all places before `to`.
                    unsafe { self.fields(zone)? };
                    self.state.within != Within::Fields
                }
                Within::Text { entry, end } => self.text(entry, end)?,
                Within::Packed { entry, outer_end } => self.packed(zone, entry, outer_end)?,
                Within::Skip => self.skip(zone)?,
            };
            if !done {
                return Ok(());
            }
        }
    }

    /// Reads a slice that is all of the innermost message.
    pub(super) fn over_slice(&mut self, slice: &'a [u8], start: usize) -> Step {
        let piece = std::mem::replace(&mut self.piece, slice);
        let piece_start = std::mem::replace(&mut self.piece_start, start);
        let result = self.over_piece();
        (self.piece, self.piece_start) = (piece, piece_start);
        result
    }

    /// The bytes between two positions, which are in the input.
    pub(super) fn bytes(&self, from: usize, to: usize) -> &'a [u8] {
        if from >= self.piece_start {
            return &self.piece[from - self.piece_start..to - self.piece_start];
        }
        let seam = self.seam_start;
        match self.seam.get(from.wrapping_sub(seam)..to - seam) {
            Some(bytes) => bytes,
            None => {
                let before = &self.seam[from - seam..self.piece_start - seam];
                let following = &self.piece[..to - self.piece_start];
                self.hold([before, following].concat())
            }
        }
    }

    /// Keeps bytes until the sink has seen them.
    pub(super) fn hold(&self, bytes: Vec<u8>) -> &'a [u8] {
        self.held.expect("only streams have a seam").hold(bytes)
    }

    /// Begins a sub-message, whose tag begins at `start`. Its bytes begin at `pos`.
    #[inline]
    pub(super) fn begin_sub(&mut self, place: u32, entry: Entry, start: usize) -> Step {
        let state = &mut *self.state;
        (state.tag_start, state.number) = (start, entry.number());
        if state.frames.len() >= self.depth_max {
            return Err(ErrorKind::TooDeep);
        }
        proceed(self.sink.start_sub(entry.field))?;
        let (end, seen) = (state.end, state.seen);
        state.frames.push(Frame { end, start, seen, record: 0, entry: place });
        (state.node, state.seen) = (entry.sub, 0);
        state.next = self.tables.node(entry.sub).first();
        Ok(())
    }

    /// The bytes of a message that has a length end here.
    #[inline]
    pub(super) fn end_of_length(&mut self) -> Step {
        let frame = self.pop_frame()?;
        if self.tables.node(self.tables.entry(frame.entry).sub).end_tag != 0 {
            // The group has no end tag.
            return Err(ErrorKind::PastParent);
        }
        self.state.end = frame.end;
        proceed(self.sink.end_sub(self.tables.entry(frame.entry).field))
    }

    /// The end tag `tag` of a group, at `start`.
    pub(super) fn end_of_group(&mut self, tag: u32, start: usize) -> Step {
        let state = &mut *self.state;
        if self.tables.node(state.node).end_tag != tag {
            (state.tag_start, state.number) = (start, tag >> 3);
            return Err(ErrorKind::EndGroup);
        }
        let frame = self.pop_frame()?;
        proceed(self.sink.end_sub(self.tables.entry(frame.entry).field))
    }

    /// Returns to the outer message; the current field is the one that ends.
    #[inline]
    fn pop_frame(&mut self) -> Step<Frame> {
        self.check_required()?;
        let state = &mut *self.state;
        let frame = state.frames.pop().expect("the outermost has no end");
        let entry = self.tables.entry(frame.entry);
        (state.node, state.next, state.seen) = (entry.owner, entry.next, frame.seen);
        (state.tag_start, state.number) = (frame.start, entry.number());
        Ok(frame)
    }

    /// Records that a required field was seen.
    #[inline(always)]
    pub(super) fn note(&mut self, entry: &Entry) {
        if let Some(place) = entry.required {
            self.note_required(place);
        }
    }

    #[cold]
    fn note_required(&mut self, place: u16) {
        let depth = self.state.frames.len();
        let more = &mut self.state.seen_more;
        match place {
            0..64 => self.state.seen |= 1 << place,
            _ if more.contains(&(depth, place)) => {}
            _ => more.push((depth, place)),
        }
    }

    /// Whether the innermost message has all of its required fields.
    #[inline]
    pub(super) fn check_required(&mut self) -> Step {
        let node = self.tables.node(self.state.node);
        if node.required == 0 {
            return Ok(());
        }
        self.find_missing()
    }

    #[cold]
    fn find_missing(&mut self) -> Step {
        let state = &mut *self.state;
        let (first, end) = self.tables.node(state.node).entries;
        let depth = state.frames.len();
        for entry in &self.tables.entries()[first as usize..end as usize] {
            let there = match entry.required {
                None => true,
                Some(place @ 0..64) => state.seen >> place & 1 != 0,
                Some(place) => state.seen_more.contains(&(depth, place)),
            };
            if !there {
                (state.number, state.missing_at) = (entry.number(), state.pos);
                state.tag_start = state.frames.as_slice().last().map_or(0, |frame| frame.start);
                return Err(ErrorKind::MissingRequired);
            }
        }
        state.seen_more.retain(|&(of, _)| of < depth);
        Ok(())
    }

    /// The input begins.
    #[inline]
    pub(super) fn begin(&mut self, message: MessageId) -> Step {
        proceed(self.sink.start_message(message))
    }

    /// The input ends.
    #[inline]
    pub(super) fn end(&mut self, message: MessageId, total: usize) -> Step {
        let state = &mut *self.state;
        if let Some(&outermost) = state.frames.as_slice().first() {
            let entry = self.tables.entry(outermost.entry);
            // SAFETY: no frames are left.
            unsafe { state.frames.set_len(0) };
            (state.node, state.number) = (entry.owner, entry.number());
            state.tag_start = outermost.start;
            return Err(ErrorKind::Truncated);
        }
        if state.pos != total || state.within != Within::Fields {
            return Err(ErrorKind::Truncated);
        }
        self.check_required()?;
        (self.state.tag_start, self.state.number) = (total, 0);
        proceed(self.sink.end_message(message))
    }

    /// A field at `start`, of this number if its tag is read, needs the bytes up to `to`: it waits
    /// for them, or crosses the end of its message.
    #[cold]
    pub(super) fn cut(&mut self, start: usize, number: u32) -> Step {
        let end = self.state.end;
        self.state.pos = start;
        (self.state.tag_start, self.state.number) = (start, number);
        if end > self.have() {
            return Ok(());
        }
        Err(if end == self.root_end { ErrorKind::TooLarge } else { ErrorKind::PastParent })
    }

    /// The same for a varint at `at` that has no end in ten bytes.
    #[cold]
    pub(super) fn cut_long(&mut self, start: usize, at: usize, number: u32) -> Step {
        if at + crate::varint::BYTES_MAX <= self.state.end.min(self.have()) {
            (self.state.tag_start, self.state.number) = (start, number);
            return Err(ErrorKind::VarintTooLong);
        }
        self.cut(start, number)
    }

    /// A length beyond the end of the message.
    #[cold]
    pub(super) fn too_long(&mut self, start: usize, number: u32) -> Step {
        (self.state.tag_start, self.state.number) = (start, number);
        let root = self.state.end == self.root_end;
        Err(if root { ErrorKind::TooLarge } else { ErrorKind::PastParent })
    }

    /// The sink stopped at the field at `start`.
    #[cold]
    pub(super) fn stopped(&mut self, start: usize, number: u32) -> Step {
        (self.state.tag_start, self.state.number) = (start, number);
        Err(ErrorKind::Stopped)
    }

    /// Why an unknown field is skipped.
    pub(super) fn why_unknown() -> Why {
        if S::wants().has(Wants::UNKNOWN) { Why::Unknown } else { Why::Unwanted }
    }
}
