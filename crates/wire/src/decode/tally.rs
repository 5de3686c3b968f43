//! The index of an element in its list, counted only for the paths of errors.
//!
//! A second walk over the bytes that the decoder has passed, which skips complete messages and
//! counts the fields of those that are still open. It runs when an error is reported, and at the
//! end of each piece of a stream, whose bytes are dropped then. The hot loops count nothing.
//!
//! ```text
//!   level 0   { phones: 4, name: 1 }     up to here, the outermost message has had these
//!   level 1   { number: 1 }              the open phone
//! ```

use super::nodes::{Action, Entry, NONE};
use super::state::Frame;
use super::tables::Tables;
use crate::schema::WireType;
use crate::varint;

/// See the module.
pub(crate) struct Tally {
    /// Everything before has been walked.
    pos: usize,
    levels: Vec<Level>,
}

struct Level {
    /// The start of its tag.
    start: usize,
    /// Its end; `None` for groups.
    end: Option<usize>,
    kind: LevelKind,
    /// Number and count of the fields that are lists.
    counts: Vec<(u32, u32)>,
}

#[derive(Clone, Copy)]
enum LevelKind {
    /// A message of this node.
    Message(u32),
    /// A packed list of that number, and the wire type of its elements.
    Packed(u32, u32),
    /// A group whose fields are not counted.
    Unknown,
}

impl Tally {
    pub(crate) fn new(node: u32) -> Tally {
        let kind = LevelKind::Message(node);
        Tally { pos: 0, levels: vec![Level { start: 0, end: None, kind, counts: Vec::new() }] }
    }

    /// The elements of a field so far in the message around a frame, that frame's own included;
    /// `None` where the walk does not know that frame.
    pub(crate) fn count_at(&self, depth: usize, start: usize, number: u32) -> Option<u32> {
        let inner = self.levels.get(depth + 1)?;
        (inner.start == start).then(|| self.levels[depth].count(number))
    }

    /// The elements of a field in the innermost message before the one at `tag_start`.
    pub(crate) fn count(&self, frames: &[Frame], tag_start: usize, number: u32) -> Option<u32> {
        let level = self.levels.get(frames.len())?;
        let same = frames.last().is_none_or(|frame| frame.start == level.start);
        // One that is not complete was counted where its piece ended; elements of packed lists
        // are counted when they are complete.
        let itself = match self.levels.get(frames.len() + 1) {
            Some(inner) => inner.start == tag_start && !matches!(inner.kind, LevelKind::Packed(..)),
            None => self.pos > tag_start,
        };
        same.then(|| level.count(number).saturating_sub(u32::from(itself)))
    }

    /// Walks on up to `to`, the place of the decoder. `before` are the bytes that ended before
    /// `start`, `piece` those after it.
    pub(crate) fn walk(
        &mut self,
        tables: &Tables,
        before: &[u8],
        piece: &[u8],
        start: usize,
        to: usize,
    ) {
        let before_start = start - before.len();
        while self.pos < to {
            // A field that begins in the bytes before may end in the piece.
            let joint;
            let rest = if self.pos < start {
                let near = &piece[..piece.len().min(32)];
                joint = [&before[self.pos - before_start..], near].concat();
                &joint[..]
            } else {
                &piece[self.pos - start..]
            };
            if self.step(tables, rest, to).is_none() {
                // It differs from the decoder's result: no index is better than a wrong one.
                self.levels.clear();
                self.pos = usize::MAX;
            }
        }
    }

    /// Skips one field or one element, enters one, or leaves a level; `head` holds the first bytes.
    fn step(&mut self, tables: &Tables, head: &[u8], to: usize) -> Option<()> {
        let level = self.levels.last()?;
        if level.end == Some(self.pos) {
            self.levels.pop();
            return Some(());
        }
        match level.kind {
            LevelKind::Packed(number, wire_type) => self.element(number, wire_type, head),
            LevelKind::Message(node) => self.field(Some(node), tables, head, to),
            LevelKind::Unknown => self.field(None, tables, head, to),
        }
    }

    /// Skips an element of a packed list, and counts it in the message around the list.
    fn element(&mut self, number: u32, wire_type: u32, head: &[u8]) -> Option<()> {
        self.pos += match wire_type {
            1 => 8,
            5 => 4,
            _ => varint::read(head).ok()?.1,
        };
        let outside = self.levels.len().checked_sub(2)?;
        self.levels[outside].add(number);
        Some(())
    }

    /// Skips a field of a message of this node, or enters it.
    fn field(&mut self, node: Option<u32>, tables: &Tables, head: &[u8], to: usize) -> Option<()> {
        let start = self.pos;
        let (tag, tag_bytes) = varint::read(head).ok()?;
        let (number, wire_type) = ((tag >> 3) as u32, WireType::from_tag(tag)?);
        let entry = node.map_or(NONE, |node| tables.find(tables.node(node), number));
        let entry = (entry != NONE).then(|| tables.entry(entry));
        let listed = entry.is_some_and(|entry| entry.repeated);
        let body = start + tag_bytes;
        let head = head.get(tag_bytes..)?;
        self.pos = match wire_type {
            WireType::Varint => body + varint::read(head).ok()?.1,
            WireType::Fixed64 => body + 8,
            WireType::Fixed32 => body + 4,
            WireType::EndGroup => {
                self.pos = body;
                self.levels.pop();
                return Some(());
            }
            WireType::StartGroup => {
                let known = entry.filter(|entry| entry.action == Action::Group);
                let kind = known.map_or(LevelKind::Unknown, |entry| LevelKind::Message(entry.sub));
                self.pos = body;
                self.levels.last_mut()?.add_if(listed, number);
                self.open(start, None, kind);
                return Some(());
            }
            WireType::Length => {
                let (length, bytes) = varint::read(head).ok()?;
                let body = body + bytes;
                let end = body.checked_add(usize::try_from(length).ok()?)?;
                self.content(entry, tag as u32, (body, end), to);
                return Some(());
            }
        };
        self.levels.last_mut()?.add_if(listed, number);
        Some(())
    }

    /// Enters a packed list, or a message that ends after the place of the decoder; skips the
    /// content of any other field.
    fn content(&mut self, entry: Option<&Entry>, tag: u32, body: (usize, usize), to: usize) {
        let (start, number, (body, end)) = (self.pos, tag >> 3, body);
        let packed = entry.filter(|it| it.action != Action::Skip && it.packed_tag() == tag);
        if let Some(entry) = packed {
            self.pos = body;
            return self.open(start, Some(end), LevelKind::Packed(number, entry.single_tag() & 7));
        }
        if let Some(level) = self.levels.last_mut() {
            level.add_if(entry.is_some_and(|entry| entry.repeated), number);
        }
        self.pos = end;
        if let Some(entry) = entry.filter(|entry| entry.action == Action::Message && end >= to) {
            self.pos = body;
            self.open(start, Some(end), LevelKind::Message(entry.sub));
        }
    }

    fn open(&mut self, start: usize, end: Option<usize>, kind: LevelKind) {
        self.levels.push(Level { start, end, kind, counts: Vec::new() });
    }
}

impl Level {
    fn count(&self, number: u32) -> u32 {
        let found = self.counts.iter().find(|(known, _)| *known == number);
        found.map_or(0, |&(_, count)| count)
    }

    fn add_if(&mut self, listed: bool, number: u32) {
        if listed {
            self.add(number);
        }
    }

    fn add(&mut self, number: u32) {
        match self.counts.iter_mut().find(|(known, _)| *known == number) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((number, 1)),
        }
    }
}
