//! The state of a printer of text, and the text that it writes around values. Its events are in
//! `write`.

use super::names::group_name;
use crate::escape;
use crate::json::{Cardinality, FieldMap, Mapping, MessageForm, WriteProblem};
use crate::schema::{FieldId, MessageId};
use crate::stop::{SinkResult, Stop};

/// The options of printing text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TextPrintOptions {
    /// One line or several.
    pub layout: Layout,
    /// Unknown fields, which text may show by number, but which cannot be read back.
    pub unknown: PrintUnknown,
}

/// The layout of fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// Each on its line, indented.
    #[default]
    Lines,
    /// All on one.
    OneLine,
}

/// The treatment of unknown fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PrintUnknown {
    /// They are left out.
    #[default]
    Ignore,
    /// They are written by number.
    Print,
}

/// Writes the events of messages as text.
#[derive(Debug)]
pub struct TextSink<'m, 's> {
    pub(super) mapping: &'m Mapping<'s>,
    pub(super) options: TextPrintOptions,
    pub(super) out: Vec<u8>,
    pub(super) here: Frame,
    pub(super) frames: Vec<Frame>,
    /// A bit for each field seen, for all open messages.
    pub(super) seen: Vec<u64>,
    pub(super) indent: usize,
    /// True if the open string or bytes are empty, and so absent and not written.
    pub(super) absent: bool,
    /// The type and value of the open `Any` fields, innermost last.
    pub(super) anys: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) problem: Option<WriteProblem>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) shape: MessageForm,
    pub(super) seen: usize,
}

impl<'m, 's> TextSink<'m, 's> {
    /// A sink.
    pub fn new(mapping: &'m Mapping<'s>, options: TextPrintOptions) -> TextSink<'m, 's> {
        TextSink {
            mapping,
            options,
            out: Vec::new(),
            here: Frame { shape: MessageForm::Plain, seen: 0 },
            frames: Vec::new(),
            seen: Vec::new(),
            indent: 0,
            absent: false,
            anys: Vec::new(),
            problem: None,
        }
    }

    /// The text so far.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// The text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Clears the text and keeps the memory.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    /// The problem that stopped the last walk.
    pub fn problem(&self) -> Option<&WriteProblem> {
        self.problem.as_ref()
    }

    pub(super) fn start_line(&mut self) {
        match self.options.layout {
            Layout::Lines => self.out.resize(self.out.len() + 2 * self.indent, b' '),
            Layout::OneLine => {
                if !matches!(self.out.last(), None | Some(b' ' | b'\n')) {
                    self.out.push(b' ');
                }
            }
        }
    }

    pub(super) fn end_line(&mut self) {
        if self.options.layout == Layout::Lines {
            self.out.push(b'\n');
        }
    }

    pub(super) fn open_brace(&mut self) {
        self.out.extend_from_slice(b" {");
        self.end_line();
        self.indent += 1;
    }

    pub(super) fn close_brace(&mut self) {
        self.indent -= 1;
        self.start_line();
        self.out.push(b'}');
    }

    pub(super) fn open(&mut self, message: MessageId) {
        let map = self.mapping.message(message);
        let seen = self.seen.len();
        self.seen.resize(seen + map.seen.div_ceil(64) as usize, 0);
        self.here = Frame { shape: map.shape, seen };
        if map.shape == MessageForm::Any {
            self.anys.push(Default::default());
        }
    }

    pub(super) fn any_part(&mut self, name: &str, bytes: &[u8]) {
        self.start_line();
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": \"");
        escape::escape_bytes(&mut self.out, bytes);
        self.out.push(b'"');
        self.end_line();
    }

    /// Opens the message inside an `Any`.
    pub(super) fn open_any(&mut self, message: MessageId, type_url: &str) {
        self.start_line();
        self.out.extend_from_slice(format!("[{type_url}]").as_bytes());
        self.open_brace();
        self.frames.push(self.here);
        self.open(message);
    }

    /// Records a field; one that is no list may occur only once.
    pub(super) fn note(&mut self, map: &FieldMap) -> SinkResult {
        if map.list == Cardinality::Single {
            let word = self.here.seen + (map.seen / 64) as usize;
            let bit = 1 << (map.seen % 64);
            match self.seen.get_mut(word) {
                Some(word) if *word & bit == 0 => *word |= bit,
                _ => {
                    self.problem = Some(WriteProblem::NeedsMerge);
                    return Err(Stop);
                }
            }
        }
        Ok(())
    }

    /// True if zero, or an empty string, means that the field is absent, and so is not written.
    pub(super) fn is_absent(&mut self, field: FieldId) -> Result<bool, Stop> {
        let map = self.mapping.field(field);
        let absent = map.implicit && self.here.shape != MessageForm::Entry;
        if absent {
            self.note(map)?;
        }
        Ok(absent)
    }

    /// Records a field, and writes its name.
    pub(super) fn begin(&mut self, field: FieldId) -> SinkResult {
        let mapping = self.mapping;
        let map = mapping.field(field);
        self.note(map)?;
        self.start_line();
        let key = mapping.proto_key(map).as_bytes();
        let name = match group_name(mapping.schema(), field) {
            Some(name) if key.get(1) != Some(&b'[') => name.as_bytes(),
            // Without its quotes and colon.
            _ => key.get(1..key.len() - 2).unwrap_or(&[]),
        };
        self.out.extend_from_slice(name);
        Ok(())
    }

    pub(super) fn scalar(
        &mut self,
        field: FieldId,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> SinkResult {
        self.begin(field)?;
        self.out.extend_from_slice(b": ");
        write(&mut self.out);
        self.end_line();
        Ok(())
    }

    /// The state to return to before a message is written again.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            out: self.out.len(),
            frames: self.frames.len(),
            seen: self.seen.len(),
            anys: self.anys.len(),
            here: self.here,
            indent: self.indent,
        }
    }

    /// Returns to a mark.
    pub(super) fn return_to(&mut self, mark: &Mark) {
        self.out.truncate(mark.out);
        self.frames.truncate(mark.frames);
        self.seen.truncate(mark.seen);
        self.anys.truncate(mark.anys);
        (self.here, self.indent) = (mark.here, mark.indent);
        self.problem = None;
    }
}

/// See [`TextSink::mark`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    out: usize,
    frames: usize,
    seen: usize,
    anys: usize,
    here: Frame,
    indent: usize,
}
