//! Strings and bytes that come in pieces.

use super::error::ErrorKind;
use super::nodes::{Action, Entry};
use super::state::Within;
use super::walk::{Step, Walk, proceed};
use crate::sink::Sink;

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// A truncated string or bytes: its available bytes may be invalid, too.
    #[cold]
    pub(super) fn cut_text(&mut self, entry: &Entry, start: usize, body: usize) -> Step {
        let there = std::str::from_utf8(self.bytes(body, self.have()));
        if entry.action == Action::String && there.is_err_and(|one| one.error_len().is_some()) {
            (self.state.tag_start, self.state.number) = (start, entry.number());
            return Err(ErrorKind::InvalidUtf8);
        }
        self.cut(start, entry.number())
    }

    /// Begins a string or bytes whose end is in a later piece.
    pub(super) fn begin_text(&mut self, place: u32, start: usize, body: usize, end: usize) -> Step {
        let entry = self.tables.entry(place);
        let state = &mut *self.state;
        (state.tag_start, state.number) = (start, entry.number());
        (state.pos, state.within) = (body, Within::Text { entry: place, end });
        proceed(match entry.action {
            Action::Bytes => self.sink.start_bytes(entry.field, end - body),
            _ => self.sink.start_string(entry.field, end - body),
        })
    }

    /// Passes on the bytes at hand of a string or bytes; true at its end.
    pub(super) fn text(&mut self, place: u32, end: usize) -> Step<bool> {
        let entry = self.tables.entry(place);
        loop {
            let from = self.state.pos;
            let mut to = end.min(self.have());
            let in_seam = from < self.piece_start;
            if in_seam {
                to = to.min(self.seam_start + self.seam.len());
            }
            let bytes = self.bytes(from, to);
            let used = self.emit_text(entry, bytes, to == end)?;
            self.state.pos += used;
            if self.state.pos == end {
                self.state.within = Within::Fields;
                proceed(match entry.action {
                    Action::Bytes => self.sink.end_bytes(entry.field),
                    _ => self.sink.end_string(entry.field),
                })?;
                return Ok(true);
            }
            if !in_seam || used == 0 {
                return Ok(false);
            }
        }
    }

    /// Passes bytes of a text to the sink, the last ones if `complete`; returns the number of bytes
    /// passed, which leaves out an incomplete character.
    fn emit_text(&mut self, entry: &Entry, bytes: &'a [u8], complete: bool) -> Step<usize> {
        let field = entry.field;
        if bytes.is_empty() {
            return Ok(0);
        }
        if entry.action == Action::Bytes {
            proceed(self.sink.bytes(field, bytes))?;
            return Ok(bytes.len());
        }
        let whole = match std::str::from_utf8(bytes) {
            Ok(_) => bytes,
            Err(error) if error.error_len().is_none() && !complete => &bytes[..error.valid_up_to()],
            Err(_) if entry.action == Action::String => return Err(ErrorKind::InvalidUtf8),
            Err(_) => bytes,
        };
        if whole.is_empty() {
            return Ok(0);
        }
        proceed(match std::str::from_utf8(whole) {
            Ok(text) if entry.action == Action::String => self.sink.string(field, text),
            _ => self.sink.raw_string(field, whole),
        })?;
        Ok(whole.len())
    }
}
