//! Items of a `MessageSet`: extensions in the format that came before extensions.
//!
//! ```text
//!   group 1 { 2: number of the extension   3: bytes of its message }    in any order
//! ```
//! The number may come after the message, so an item is read once it is complete.

use super::nodes::{Action, Entry};
use super::state::Why;
use super::walk::{Step, Walk, proceed};
use crate::schema::{RawFields, RawValue};
use crate::sink::Sink;

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Reads the item whose bytes, tags and all, are `raw`.
    pub(super) fn item(&mut self, raw: &'a [u8], start: usize) -> Step {
        let known = item(raw).and_then(|(number, message)| {
            let place = self.tables.find(self.tables.node(self.state.node), number);
            Some((place, *self.tables.entries().get(place as usize)?, message))
        });
        let Some((place, entry, message)) =
            known.filter(|(_, entry, _)| matches!(entry.action, Action::Message | Action::Skip))
        else {
            return match Self::why_unknown() {
                Why::Unknown => proceed(self.sink.unknown(1, raw)),
                _ => Ok(()),
            };
        };
        if entry.action == Action::Skip {
            return Ok(());
        }
        let end = self.state.pos;
        let body = start + (message.as_ptr().addr() - raw.as_ptr().addr());
        self.sub_of_item(place, entry, start, body, message)?;
        self.state.pos = end;
        Ok(())
    }

    fn sub_of_item(
        &mut self,
        place: u32,
        entry: Entry,
        start: usize,
        body: usize,
        message: &'a [u8],
    ) -> Step {
        let (next, outer) = (self.state.next, self.state.end);
        let end = body + message.len();
        self.begin_sub(place, entry, start)?;
        (self.state.pos, self.state.end) = (body, end);
        let depth = self.state.frames.len();
        let last = std::mem::replace(&mut self.last, true);
        self.over_slice(message, body)?;
        self.last = last;
        if self.state.frames.len() >= depth {
            // Nothing inside can be incomplete, as its end is in the input.
            return self.too_long(start, entry.number());
        }
        (self.state.next, self.state.end) = (next, outer);
        Ok(())
    }
}

/// Number and message of an item.
fn item(raw: &[u8]) -> Option<(u32, &[u8])> {
    // After the start tag; the end tag of the group ends the fields with an error.
    let (_, tag) = crate::varint::read(raw).ok()?;
    let (mut number, mut message) = (None, None);
    for (field, value) in RawFields::new(&raw[tag..]).map_while(Result::ok) {
        match (field, value) {
            (2, RawValue::Varint(value)) => {
                number = number.or(u32::try_from(value).ok().filter(|&one| one != 0));
            }
            (3, RawValue::Length(bytes)) => message = message.or(Some(bytes)),
            _ => {}
        }
    }
    Some((number?, message?))
}
