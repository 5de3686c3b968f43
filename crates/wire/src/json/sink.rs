//! The state of a printer of JSON, and writing keys and brackets around values. Its events are in
//! `write`.

use tidemill_stdx::hash::{Set, combine};
use tidemill_stdx::keyed::Secret;

use super::mapping::{EnumName, Mapping};
use super::names::{Cardinality, FieldMap, MessageForm, NONE, ValueForm};
use super::options::{Defaults, Enums, PrintOptions};
use super::print::{self, Base64};
use super::scan;
use crate::schema::{FieldId, MessageId};
use crate::stop::{SinkResult, Stop};

/// Why a message cannot be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteProblem {
    /// Parts of the message are to be merged before they can be written.
    NeedsMerge,
    /// There is no JSON for a value.
    Value(String),
}

/// Writes the events of messages as JSON.
#[derive(Debug)]
pub struct JsonSink<'m, 's> {
    pub(super) mapping: &'m Mapping<'s>,
    pub(super) options: PrintOptions,
    pub(super) out: Vec<u8>,
    pub(super) top: Frame,
    pub(super) frames: Vec<Frame>,
    /// A bit for each field seen, of all open messages.
    pub(super) seen: Vec<u64>,
    /// Keys of maps seen so far, while they are checked.
    pub(super) keys: Set<u64>,
    pub(super) maps: u64,
    pub(super) base64: Base64,
    /// The string or bytes that are open are not written: they are empty, and so absent.
    pub(super) absent: bool,
    /// A string that is checked when it is complete.
    pub(super) text: Vec<u8>,
    /// The contents of `Any` fields, innermost last.
    pub(super) anys: Vec<AnyParts>,
    pub(super) problem: Option<WriteProblem>,
    pub(super) merged: bool,
}

/// A message that is being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) message: MessageId,
    pub(super) shape: MessageForm,
    /// Something is written already: a comma comes first. For an entry: the key is written.
    pub(super) comma: bool,
    /// The value of an entry, a `Value` or a wrapper is written.
    pub(super) done: bool,
    /// The list or map that is being written, or [`NONE`].
    pub(super) open: u32,
    /// Its closing bracket.
    pub(super) close: u8,
    /// The start of its bits.
    pub(super) seen: u32,
    /// For keys of the map that is open.
    pub(super) map: u64,
    /// Seconds and nanoseconds.
    pub(super) seconds: i64,
    pub(super) nanos: i32,
}

/// The fields of an `Any`.
#[derive(Clone, Debug, Default)]
pub(super) struct AnyParts {
    pub(super) type_url: Vec<u8>,
    pub(super) value: Vec<u8>,
}

impl<'m, 's> JsonSink<'m, 's> {
    /// A sink for events in the order of bytes.
    pub fn new(mapping: &'m Mapping<'s>, options: PrintOptions) -> JsonSink<'m, 's> {
        JsonSink {
            mapping,
            options,
            out: Vec::new(),
            top: Frame::new(MessageId(0), MessageForm::Plain, 0),
            frames: Vec::new(),
            seen: Vec::new(),
            keys: Set::default(),
            maps: 0,
            base64: Base64::default(),
            absent: false,
            text: Vec::new(),
            anys: Vec::new(),
            problem: None,
            merged: false,
        }
    }

    /// The same, for events that need no merging, such as those of messages in memory.
    pub fn merged(mapping: &'m Mapping<'s>, options: PrintOptions) -> JsonSink<'m, 's> {
        JsonSink { merged: true, ..JsonSink::new(mapping, options) }
    }

    /// The text so far.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Takes the text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Drops the text, and keeps the memory.
    pub fn clear(&mut self) {
        self.out.clear();
        self.reset();
    }

    pub(super) fn reset(&mut self) {
        self.frames.clear();
        self.seen.clear();
        self.keys.clear();
        self.anys.clear();
        self.problem = None;
    }

    /// Why it stopped the last walk.
    pub fn problem(&self) -> Option<&WriteProblem> {
        self.problem.as_ref()
    }

    #[cold]
    pub(super) fn needs_merge(&mut self) -> Stop {
        self.problem = Some(WriteProblem::NeedsMerge);
        Stop
    }

    #[cold]
    pub(super) fn refuse(&mut self, what: impl Into<String>) -> Stop {
        self.problem = Some(WriteProblem::Value(what.into()));
        Stop
    }

    /// Opens a message whose key is written.
    #[inline]
    pub(super) fn open(&mut self, message: MessageId) {
        let map = *self.mapping.message(message);
        let seen = self.seen.len();
        let plain = map.shape == MessageForm::Plain;
        if plain {
            // Almost always one.
            for _ in 0..map.seen.div_ceil(64) {
                self.seen.push(0);
            }
        }
        self.top = Frame::new(message, map.shape, seen as u32);
        match map.shape {
            MessageForm::Plain | MessageForm::Struct => self.out.push(b'{'),
            MessageForm::ListValue => self.out.push(b'['),
            MessageForm::FieldMask => self.out.push(b'"'),
            MessageForm::Any => self.anys.push(AnyParts::default()),
            MessageForm::Entry
            | MessageForm::Timestamp
            | MessageForm::Duration
            | MessageForm::Value
            | MessageForm::Wrapper => {}
        }
    }

    #[inline]
    pub(super) fn close_list(&mut self) {
        if self.top.open != NONE {
            self.out.push(self.top.close);
            self.top.open = NONE;
        }
    }

    /// Writes the comma and key before a value of this field.
    #[inline]
    pub(super) fn begin(&mut self, field: FieldId) -> SinkResult {
        if self.top.shape != MessageForm::Plain {
            return self.begin_special(field);
        }
        if self.top.open == field.0 {
            self.out.push(b',');
            return Ok(());
        }
        self.close_list();
        let mapping = self.mapping;
        let map = mapping.field(field);
        self.note(map)?;
        let first = !std::mem::replace(&mut self.top.comma, true);
        let (key, length) = mapping.key(map, self.options.names, usize::from(first));
        scan::push_front(&mut self.out, key, length);
        if map.list != Cardinality::Single {
            self.open_list(field, map.list);
        }
        Ok(())
    }

    /// Notes that a field was seen; a repeat is refused.
    #[inline]
    pub(super) fn note(&mut self, map: &FieldMap) -> SinkResult {
        let word = self.top.seen as usize + (map.seen / 64) as usize;
        let bit = 1 << (map.seen % 64);
        match self.seen.get_mut(word) {
            Some(word) if *word & bit == 0 => *word |= bit,
            _ => return Err(self.needs_merge()),
        }
        Ok(())
    }

    /// True if zero, or an empty string, is not written, as it means that the field is absent.
    #[inline]
    pub(super) fn is_absent(&mut self, field: FieldId) -> Result<bool, Stop> {
        let map = self.mapping.field(field);
        let written = !map.implicit
            || self.top.shape != MessageForm::Plain
            || self.options.defaults == Defaults::Print;
        if !written {
            self.note(map)?;
        }
        Ok(!written)
    }

    fn open_list(&mut self, field: FieldId, list: Cardinality) {
        let (open, close) = if list == Cardinality::Map { (b'{', b'}') } else { (b'[', b']') };
        self.out.push(open);
        self.top.open = field.0;
        self.top.close = close;
        self.maps += 1;
        self.top.map = self.maps;
    }

    fn begin_special(&mut self, field: FieldId) -> SinkResult {
        match self.top.shape {
            MessageForm::Entry => self.begin_entry(field),
            MessageForm::Struct | MessageForm::ListValue => {
                if self.top.comma {
                    self.out.push(b',');
                } else {
                    self.maps += 1;
                    self.top.map = self.maps;
                }
                self.top.comma = true;
                Ok(())
            }
            MessageForm::Value | MessageForm::Wrapper => {
                if std::mem::replace(&mut self.top.done, true) {
                    return Err(self.needs_merge());
                }
                Ok(())
            }
            _ => Err(Stop),
        }
    }

    /// The key itself is written with its value.
    fn begin_entry(&mut self, field: FieldId) -> SinkResult {
        if self.is_key(field) {
            return Ok(());
        }
        if self.top.done {
            return Err(self.needs_merge());
        }
        if !self.top.comma {
            self.write_default_key()?;
        }
        self.top.done = true;
        self.out.push(b':');
        Ok(())
    }

    #[inline]
    pub(super) fn is_key(&self, field: FieldId) -> bool {
        self.mapping.field(field).seen == 0
    }

    /// Writes the key of an entry.
    pub(super) fn key(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> SinkResult {
        if self.top.comma || self.top.done {
            return Err(self.needs_merge());
        }
        self.top.comma = true;
        let start = self.out.len();
        self.out.push(b'"');
        write(&mut self.out);
        self.out.push(b'"');
        self.check_key(start)
    }

    /// Two entries of one key need to be merged.
    fn check_key(&mut self, start: usize) -> SinkResult {
        if self.merged {
            return Ok(());
        }
        let map = self.frames.last().map_or(0, |outside| outside.map);
        // Two keys of one hash cause an unneeded merge, which is harmless.
        let hash = Secret::of_process().bytes(&self.out[start..]);
        if self.keys.insert(combine(hash, map)) { Ok(()) } else { Err(self.needs_merge()) }
    }

    pub(super) fn write_default_key(&mut self) -> SinkResult {
        let key = self.mapping.schema.field_by_number(self.top.message, 1).ok_or(Stop)?;
        let text: &[u8] = match self.mapping.field(key).kind {
            ValueForm::String => b"",
            ValueForm::Bool => b"false",
            _ => b"0",
        };
        self.key(|out| out.extend_from_slice(text))
    }

    pub(super) fn write_enum(&mut self, field: FieldId, number: i32) {
        let name = match (self.mapping.field(field).kind, self.options.enums) {
            (ValueForm::Enum(id), Enums::Name) => self.mapping.enum_name(id, number),
            (ValueForm::Null, _) => return self.out.extend_from_slice(b"null"),
            _ => None,
        };
        match name {
            Some(EnumName::Quoted(name)) => self.out.extend_from_slice(name.as_bytes()),
            Some(EnumName::Bare(name)) => print::quote(&mut self.out, name),
            None => print::integer(&mut self.out, number),
        }
    }

    /// Writes a number: `key` as the key of an entry, `write` as a value.
    #[inline]
    pub(super) fn scalar(
        &mut self,
        field: FieldId,
        key: impl FnOnce(&mut Vec<u8>),
        write: impl FnOnce(&mut Vec<u8>),
    ) -> SinkResult {
        if self.top.shape == MessageForm::Entry && self.is_key(field) {
            return self.key(key);
        }
        self.begin(field)?;
        write(&mut self.out);
        Ok(())
    }

    #[cold]
    pub(super) fn no_utf8(&mut self, field: FieldId) -> Stop {
        let name = self.mapping.schema.field(field).name();
        self.refuse(format!("string `{name}` is not UTF-8, as JSON is"))
    }

    #[cold]
    pub(super) fn refuse_unknown(&mut self, message: MessageId, number: u32) -> Stop {
        let name = self.mapping.schema.full_name(message);
        self.refuse(format!("field {number} of {name} is unknown"))
    }

    pub(super) fn finite(&mut self, value: f64) -> SinkResult {
        if self.top.shape == MessageForm::Value && !value.is_finite() {
            return Err(self.refuse("a Value that is no finite number has no JSON"));
        }
        Ok(())
    }

    /// Opens the message that is inside of an `Any`, and writes its type.
    pub(super) fn open_in_any(&mut self, message: MessageId, type_url: &str) {
        self.frames.push(self.top);
        self.out.extend_from_slice(b"{\"@type\":");
        print::quote(&mut self.out, type_url);
        if self.mapping.message(message).shape.is_special() {
            self.out.extend_from_slice(b",\"value\":");
            self.open(message);
        } else {
            let start = self.out.len();
            self.open(message);
            self.out.truncate(start);
            self.top.comma = true;
        }
    }

    /// The state to restore if a message is to be written again.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            out: self.out.len(),
            frames: self.frames.len(),
            seen: self.seen.len(),
            anys: self.anys.len(),
            top: self.top,
            merged: self.merged,
        }
    }

    /// Returns to a mark, to write what follows from events that are merged.
    pub(super) fn return_to(&mut self, mark: &Mark) {
        self.out.truncate(mark.out);
        self.frames.truncate(mark.frames);
        self.seen.truncate(mark.seen);
        self.anys.truncate(mark.anys);
        self.top = mark.top;
        self.problem = None;
        self.merged = true;
    }

    /// Continues after the text written from merged events.
    pub(super) fn go_on(&mut self, mark: &Mark) {
        self.merged = mark.merged;
    }
}

/// See [`JsonSink::mark`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    out: usize,
    frames: usize,
    seen: usize,
    anys: usize,
    top: Frame,
    merged: bool,
}

impl Frame {
    #[inline]
    fn new(message: MessageId, shape: MessageForm, seen: u32) -> Frame {
        let (comma, done, open, close, map) = (false, false, NONE, 0, 0);
        Frame { message, shape, comma, done, open, close, seen, map, seconds: 0, nanos: 0 }
    }
}
