//! The state of a decoder in a message: all that is kept between two pieces of input.
//!
//! Places are bytes from the start of the whole input, wherever the bytes lie now.

use std::mem::MaybeUninit;

use super::tables::Tables;

/// The state that the end of a sub-message restores.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Frame {
    /// The end of the outer message. Groups do not change it, and need not write it.
    pub(crate) end: usize,
    /// The start of the tag of the sub-message.
    pub(crate) start: usize,
    /// The required fields seen in the outer message.
    pub(crate) seen: u64,
    /// The outer record, where generated code stores into a message in memory; else arbitrary.
    pub(crate) record: usize,
    /// The entry of the sub-message; its owner is the node outside.
    pub(crate) entry: u32,
}

/// The number of frames that need no memory of their own.
const INLINE: usize = 16;

/// A stack of frames.
///
/// A word that is not 0 is before the frames, and nothing after them: the optimiser would fill
/// memory between zeros with zeros too, at each decoding.
#[repr(C)]
pub(crate) struct Frames {
    spilled: Vec<MaybeUninit<Frame>>,
    len: usize,
    /// The number of frames that there is room for.
    room: usize,
    inline: [MaybeUninit<Frame>; INLINE],
}

impl Frames {
    #[inline(always)]
    fn new() -> Frames {
        let inline = [MaybeUninit::uninit(); INLINE];
        Frames { spilled: Vec::new(), len: 0, room: INLINE, inline }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn places(&self) -> &[MaybeUninit<Frame>] {
        if self.spilled.is_empty() { &self.inline } else { &self.spilled }
    }

    /// The places of frames, used and free.
    #[inline]
    pub(crate) fn places_mut(&mut self) -> &mut [MaybeUninit<Frame>] {
        if self.spilled.is_empty() { &mut self.inline } else { &mut self.spilled }
    }

    #[inline]
    pub(crate) fn push(&mut self, frame: Frame) {
        let len = self.len;
        if len == self.room {
            self.grow();
        }
        self.places_mut()[len].write(frame);
        self.len = len + 1;
    }

    /// Twice the room.
    #[cold]
    pub(crate) fn grow(&mut self) {
        self.room *= 2;
        let mut more = Vec::with_capacity(self.room);
        more.extend_from_slice(self.places());
        more.resize(self.room, MaybeUninit::uninit());
        self.spilled = more;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.as_slice().last().copied();
        self.len = self.len.saturating_sub(1);
        frame
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Frame] {
        let used = &self.places()[..self.len];
        // SAFETY: the first `len` frames were written, by `push` or as `set_len` asks.
        unsafe { std::slice::from_raw_parts(used.as_ptr().cast(), used.len()) }
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [Frame] {
        let len = self.len;
        let used = &mut self.places_mut()[..len];
        // SAFETY: the first `len` frames were written, by `push` or as `set_len` asks.
        unsafe { std::slice::from_raw_parts_mut(used.as_mut_ptr().cast(), used.len()) }
    }

    /// Sets the number of frames.
    ///
    /// # Safety
    /// The first `len` frames of the room were written.
    #[inline]
    pub(crate) unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.room);
        self.len = len;
    }
}

/// The element that the next byte belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Within {
    /// The tag of a field, or the end of the message.
    Fields,
    /// A string or bytes, up to `end`.
    Text { entry: u32, end: usize },
    /// A packed list, up to [`DecodeState::end`]; the message itself ends at `outer_end`.
    Packed { entry: u32, outer_end: usize },
    /// A field that is skipped, see [`Skip`].
    Skip,
}

/// Why a field is skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// It is not needed.
    Unwanted,
    /// It is unknown, and the sink needs those.
    Unknown,
    /// It is an item of a `MessageSet`, which is read once it is complete.
    Item,
}

/// A field that is skipped.
#[derive(Debug)]
pub(crate) struct Skip {
    pub(crate) why: Why,
    /// The end of the string that is being skipped.
    pub(crate) to: usize,
    /// The numbers of the groups that are open, outermost first.
    pub(crate) groups: Vec<u32>,
    /// Its bytes in earlier pieces, if they are needed.
    pub(crate) collected: Vec<u8>,
    /// The place up to which they are collected.
    pub(crate) collected_to: usize,
}

/// See the module.
#[repr(C)]
pub(crate) struct DecodeState {
    /// The next byte.
    pub(crate) pos: usize,
    /// The end of the innermost message with a length; for the outermost, the limit of all.
    pub(crate) end: usize,
    pub(crate) node: u32,
    /// The entry that probably comes next.
    pub(crate) next: u32,
    /// The required fields seen in the message.
    pub(crate) seen: u64,
    /// The start of the tag of the current field.
    pub(crate) tag_start: usize,
    /// The current field; 0 while its tag is not read.
    pub(crate) number: u32,
    pub(crate) within: Within,
    pub(crate) skip: Skip,
    /// The place where a required field was found missing, at the end of its message.
    pub(crate) missing_at: usize,
    /// Required fields from the 65th on: how deep, and which.
    pub(crate) seen_more: Vec<(usize, u16)>,
    /// Last, as it asks.
    pub(crate) frames: Frames,
}

impl DecodeState {
    /// The state at the start of a message of at most `bytes_max` bytes.
    #[inline(always)]
    pub(crate) fn new(tables: &Tables, node: u32, bytes_max: usize) -> DecodeState {
        DecodeState {
            pos: 0,
            // One more than the limit, so that the end of the outermost is never reached.
            end: bytes_max.saturating_add(1),
            node,
            next: tables.node(node).first(),
            seen: 0,
            tag_start: 0,
            number: 0,
            within: Within::Fields,
            skip: Skip {
                why: Why::Unwanted,
                to: 0,
                groups: Vec::new(),
                collected: Vec::new(),
                collected_to: 0,
            },
            missing_at: 0,
            seen_more: Vec::new(),
            frames: Frames::new(),
        }
    }

    /// The place up to which fields are counted for the path of an error: to the tag of the one at
    /// fault, or to the element of a list.
    pub(crate) fn counted_to(&self) -> usize {
        match self.within {
            Within::Packed { .. } => self.pos,
            _ => self.tag_start.max(self.missing_at),
        }
    }

    /// The end of the outermost message.
    #[inline]
    pub(crate) fn root_end(bytes_max: usize) -> usize {
        bytes_max.saturating_add(1)
    }
}
