//! Events into JSON.
//!
//! Text is written as events come: a key at the first element of a list, a bracket at the first
//! field that is another. What cannot be written that way shows and is refused
//! ([`WriteProblem::NeedsMerge`]): a list that goes on after other fields, a value that comes
//! twice, a second member of a oneof, an entry of a map without order. Such messages are legal,
//! if rare; they go through a message in memory first, which gives events merged.
//!
//! ```text
//! bytes --decoder--> JsonSink --> text
//!            '--needs merge--> message in memory --walk--> JsonSink --> text
//! ```

use tidemill_stdx::hash::{Set, combine};
use tidemill_stdx::keyed::Secret;

use super::mapping::{EnumName, FieldMap, Kind, List, Mapping, NONE, Shape};
use super::options::{Defaults, Enums, PrintOptions, Unknown};
use super::print::{self, Base64};
use super::scan;
use super::time;
use crate::schema::{FieldId, Label, MessageId};
use crate::sink::{Flow, Sink, Stop};

/// How deep messages inside of `Any` may nest.
const ANY_DEPTH_MAX: usize = 100;

/// Why a message cannot be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteProblem {
    /// Parts of the message are to be merged before they can be written.
    NeedsMerge,
    /// There is no JSON for a value.
    Value(String),
}

/// Writes the events of messages as JSON; see the module.
#[derive(Debug)]
pub struct JsonSink<'m, 's> {
    pub(super) mapping: &'m Mapping<'s>,
    pub(super) options: PrintOptions,
    pub(super) out: Vec<u8>,
    pub(super) top: Frame,
    pub(super) frames: Vec<Frame>,
    /// A bit for each field that was there, of all open messages.
    seen: Vec<u64>,
    /// Keys of maps that were there, while they are checked.
    keys: Set<u64>,
    maps: u64,
    base64: Base64,
    /// The string or bytes that are open are not written: they are empty, and so absent.
    absent: bool,
    /// A string that is looked at when it is complete.
    pub(super) text: Vec<u8>,
    /// What `Any` fields hold, innermost last.
    pub(super) anys: Vec<AnyParts>,
    problem: Option<WriteProblem>,
    pub(super) merged: bool,
}

/// A message whose fields come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) message: MessageId,
    pub(super) shape: Shape,
    /// Something is written already: a comma comes first. For an entry: the key is there.
    pub(super) comma: bool,
    /// The value of an entry, a `Value` or a wrapper is there.
    done: bool,
    /// The list or map whose elements come, or [`NONE`].
    open: u32,
    /// What ends it.
    close: u8,
    /// Where its bits are.
    seen: u32,
    /// For keys of the map that is open.
    map: u64,
    /// Seconds and nanoseconds.
    seconds: i64,
    nanos: i32,
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
            top: Frame::new(MessageId(0), Shape::Plain, 0),
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

    /// Likewise, for events of which nothing needs to be merged, as messages in memory give them.
    pub fn merged(mapping: &'m Mapping<'s>, options: PrintOptions) -> JsonSink<'m, 's> {
        JsonSink { merged: true, ..JsonSink::new(mapping, options) }
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// What was written, taken out.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Forgets all that came, and keeps the memory.
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
    fn needs_merge(&mut self) -> Stop {
        self.problem = Some(WriteProblem::NeedsMerge);
        Stop
    }

    #[cold]
    pub(super) fn refuse(&mut self, what: impl Into<String>) -> Stop {
        self.problem = Some(WriteProblem::Value(what.into()));
        Stop
    }

    /// Opens a message; what stands before it is written.
    fn open(&mut self, message: MessageId) {
        let map = *self.mapping.message(message);
        let seen = self.seen.len();
        let plain = map.shape == Shape::Plain;
        if plain {
            // Almost always one.
            for _ in 0..map.seen.div_ceil(64) {
                self.seen.push(0);
            }
        }
        self.top = Frame::new(message, map.shape, seen as u32);
        match map.shape {
            Shape::Plain | Shape::Struct => self.out.push(b'{'),
            Shape::ListValue => self.out.push(b'['),
            Shape::FieldMask => self.out.push(b'"'),
            Shape::Any => self.anys.push(AnyParts::default()),
            Shape::Entry | Shape::Timestamp | Shape::Duration | Shape::Value | Shape::Wrapper => {}
        }
    }

    /// Ends the message that is open.
    fn close(&mut self) -> Flow {
        match self.top.shape {
            Shape::Plain => {
                self.close_list();
                if self.options.defaults == Defaults::Print {
                    self.write_absent()?;
                }
                self.out.push(b'}');
                self.seen.truncate(self.top.seen as usize);
                Ok(())
            }
            Shape::Entry => self.close_entry(),
            Shape::Struct => {
                self.out.push(b'}');
                Ok(())
            }
            Shape::ListValue => {
                self.out.push(b']');
                Ok(())
            }
            Shape::FieldMask => {
                self.out.push(b'"');
                Ok(())
            }
            Shape::Value if self.top.done => Ok(()),
            Shape::Value => Err(self.refuse("a Value without a value has no JSON")),
            Shape::Wrapper if self.top.done => Ok(()),
            Shape::Wrapper => self.write_default_of(1),
            Shape::Timestamp | Shape::Duration => self.close_time(),
            Shape::Any => self.close_any(),
        }
    }

    fn close_time(&mut self) -> Flow {
        let Frame { seconds, nanos, .. } = self.top;
        self.out.push(b'"');
        let written = match self.top.shape {
            Shape::Timestamp => time::write_timestamp(&mut self.out, seconds, nanos),
            _ => time::write_duration(&mut self.out, seconds, nanos),
        };
        self.out.push(b'"');
        let name = self.mapping.schema.full_name(self.top.message);
        written.ok_or_else(|| self.refuse(format!("a {name} is out of range")))
    }

    #[inline]
    fn close_list(&mut self) {
        if self.top.open != NONE {
            self.out.push(self.top.close);
            self.top.open = NONE;
        }
    }

    /// Writes what stands before a value of that field.
    #[inline]
    fn begin(&mut self, field: FieldId) -> Flow {
        if self.top.shape != Shape::Plain {
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
        if map.list != List::Single {
            self.open_list(field, map.list);
        }
        Ok(())
    }

    /// Notes that a field was there, which no field is twice.
    #[inline]
    fn note(&mut self, map: &FieldMap) -> Flow {
        let word = self.top.seen as usize + (map.seen / 64) as usize;
        let bit = 1 << (map.seen % 64);
        match self.seen.get_mut(word) {
            Some(word) if *word & bit == 0 => *word |= bit,
            _ => return Err(self.needs_merge()),
        }
        Ok(())
    }

    /// True if zero, or an empty string, is not written, as it stands for the field's absence.
    fn is_absent(&mut self, field: FieldId) -> Result<bool, Stop> {
        let map = self.mapping.field(field);
        let written = !map.implicit
            || self.top.shape != Shape::Plain
            || self.options.defaults == Defaults::Print;
        if !written {
            self.note(map)?;
        }
        Ok(!written)
    }

    fn open_list(&mut self, field: FieldId, list: List) {
        let (open, close) = if list == List::Map { (b'{', b'}') } else { (b'[', b']') };
        self.out.push(open);
        self.top.open = field.0;
        self.top.close = close;
        self.maps += 1;
        self.top.map = self.maps;
    }

    fn begin_special(&mut self, field: FieldId) -> Flow {
        match self.top.shape {
            Shape::Entry => self.begin_entry(field),
            Shape::Struct | Shape::ListValue => {
                if self.top.comma {
                    self.out.push(b',');
                } else {
                    self.maps += 1;
                    self.top.map = self.maps;
                }
                self.top.comma = true;
                Ok(())
            }
            Shape::Value | Shape::Wrapper => {
                if std::mem::replace(&mut self.top.done, true) {
                    return Err(self.needs_merge());
                }
                Ok(())
            }
            _ => Err(Stop),
        }
    }

    /// A key is written by who has its value.
    fn begin_entry(&mut self, field: FieldId) -> Flow {
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

    fn is_key(&self, field: FieldId) -> bool {
        self.mapping.field(field).seen == 0
    }

    /// Writes the key of an entry.
    fn key(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Flow {
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
    fn check_key(&mut self, start: usize) -> Flow {
        if self.merged {
            return Ok(());
        }
        let map = self.frames.last().map_or(0, |outside| outside.map);
        // Two keys of one hash go the slow way for nothing, which does no harm.
        let hash = Secret::of_process().bytes(&self.out[start..]);
        match self.keys.insert(combine(hash, map)) {
            true => Ok(()),
            false => Err(self.needs_merge()),
        }
    }

    fn write_default_key(&mut self) -> Flow {
        let key = self.mapping.schema.field_by_number(self.top.message, 1).ok_or(Stop)?;
        let text: &[u8] = match self.mapping.field(key).kind {
            Kind::String => b"",
            Kind::Bool => b"false",
            _ => b"0",
        };
        self.key(|out| out.extend_from_slice(text))
    }

    fn close_entry(&mut self) -> Flow {
        if !self.top.comma {
            self.write_default_key()?;
        }
        if self.top.done {
            return Ok(());
        }
        self.out.push(b':');
        self.top.done = true;
        self.write_default_of(2)
    }

    /// Writes the default of a field, bare.
    fn write_default_of(&mut self, number: u32) -> Flow {
        let field = self.mapping.schema.field_by_number(self.top.message, number).ok_or(Stop)?;
        self.write_default(field)
    }

    fn write_default(&mut self, field: FieldId) -> Flow {
        match self.mapping.field(field).kind {
            Kind::Int64 | Kind::Uint64 => self.out.extend_from_slice(b"\"0\""),
            Kind::Int32 | Kind::Uint32 | Kind::Double | Kind::Float => self.out.push(b'0'),
            Kind::Bool => self.out.extend_from_slice(b"false"),
            Kind::String | Kind::Bytes => self.out.extend_from_slice(b"\"\""),
            Kind::Null => self.out.extend_from_slice(b"null"),
            Kind::Enum(id) => {
                let first = self.mapping.schema.enum_def(id).values().first();
                self.write_enum(field, first.map_or(0, |value| value.number()));
            }
            Kind::Message(message) => {
                let outside = self.top;
                self.frames.push(outside);
                self.open(message);
                self.close()?;
                self.frames.pop();
                self.top = outside;
            }
        }
        Ok(())
    }

    /// Writes the fields without presence that were not there.
    fn write_absent(&mut self) -> Flow {
        let mapping = self.mapping;
        for &field in mapping.schema.message(self.top.message).fields() {
            let map = mapping.field(field);
            let word = self.seen.get(self.top.seen as usize + (map.seen / 64) as usize);
            let absent = word.is_some_and(|word| word >> (map.seen % 64) & 1 == 0);
            let label = mapping.schema.wire_field(field).label;
            if !absent || !matches!(label, Label::Implicit | Label::Repeated) {
                continue;
            }
            self.begin(field)?;
            match map.list {
                List::Single => self.write_default(field)?,
                List::Repeated | List::Map => self.close_list(),
            }
        }
        Ok(())
    }

    fn write_enum(&mut self, field: FieldId, number: i32) {
        let name = match (self.mapping.field(field).kind, self.options.enums) {
            (Kind::Enum(id), Enums::Name) => self.mapping.enum_name(id, number),
            (Kind::Null, _) => return self.out.extend_from_slice(b"null"),
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
    fn scalar(
        &mut self,
        field: FieldId,
        key: impl FnOnce(&mut Vec<u8>),
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Flow {
        if self.top.shape == Shape::Entry && self.is_key(field) {
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

    fn finite(&mut self, value: f64) -> Flow {
        if self.top.shape == Shape::Value && !value.is_finite() {
            return Err(self.refuse("a Value that is no finite number has no JSON"));
        }
        Ok(())
    }

    /// Writes the message inside of an `Any`.
    fn close_any(&mut self) -> Flow {
        let any = self.anys.pop().unwrap_or_default();
        if any.type_url.is_empty() && any.value.is_empty() {
            self.out.extend_from_slice(b"{}");
            return Ok(());
        }
        if self.frames.len() >= ANY_DEPTH_MAX {
            return Err(self.refuse("messages nest too deep"));
        }
        super::any::write(self, &any)
    }

    /// Opens the message that is inside of an `Any`, and writes its type.
    pub(super) fn open_in_any(&mut self, message: MessageId, type_url: &str) {
        self.frames.push(self.top);
        self.out.extend_from_slice(b"{\"@type\":");
        print::quote(&mut self.out, type_url);
        match self.mapping.message(message).shape.is_special() {
            true => {
                self.out.extend_from_slice(b",\"value\":");
                self.open(message);
            }
            false => {
                let start = self.out.len();
                self.open(message);
                self.out.truncate(start);
                self.top.comma = true;
            }
        }
    }

    /// Ends it.
    pub(super) fn close_in_any(&mut self) -> Flow {
        let special = self.top.shape.is_special();
        self.close()?;
        if special {
            self.out.push(b'}');
        }
        self.top = self.frames.pop().ok_or(Stop)?;
        Ok(())
    }

    /// What to return to if a message is to be written again.
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

    /// After what was written from merged events.
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
    fn new(message: MessageId, shape: Shape, seen: u32) -> Frame {
        let (comma, done, open, close, map) = (false, false, NONE, 0, 0);
        Frame { message, shape, comma, done, open, close, seen, map, seconds: 0, nanos: 0 }
    }
}

impl<'a> Sink<'a> for JsonSink<'_, '_> {
    fn start_message(&mut self, message: MessageId) -> Flow {
        self.reset();
        self.open(message);
        if self.top.shape == Shape::Entry {
            // Outside of its map it has no braces.
            return Err(self.refuse("an entry of a map has no JSON of its own"));
        }
        Ok(())
    }

    fn end_message(&mut self, _: MessageId) -> Flow {
        self.close()
    }

    fn start_sub(&mut self, field: FieldId) -> Flow {
        self.begin(field)?;
        let Kind::Message(message) = self.mapping.field(field).kind else { return Err(Stop) };
        self.frames.push(self.top);
        self.open(message);
        Ok(())
    }

    fn end_sub(&mut self, _: FieldId) -> Flow {
        self.close()?;
        self.top = self.frames.pop().ok_or(Stop)?;
        Ok(())
    }

    fn i64(&mut self, field: FieldId, value: i64) -> Flow {
        if matches!(self.top.shape, Shape::Timestamp | Shape::Duration) {
            self.top.seconds = value;
            return Ok(());
        }
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        let number = |out: &mut Vec<u8>| print::integer(out, value);
        self.scalar(field, number, |out| print::quoted_integer(out, value))
    }

    fn u64(&mut self, field: FieldId, value: u64) -> Flow {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        let number = |out: &mut Vec<u8>| print::integer(out, value);
        self.scalar(field, number, |out| print::quoted_integer(out, value))
    }

    fn i32(&mut self, field: FieldId, value: i32) -> Flow {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        if self.mapping.field(field).kind == Kind::Int32 {
            if matches!(self.top.shape, Shape::Timestamp | Shape::Duration) {
                self.top.nanos = value;
                return Ok(());
            }
            let number = |out: &mut Vec<u8>| print::integer(out, value);
            return self.scalar(field, number, number);
        }
        self.begin(field)?;
        self.write_enum(field, value);
        Ok(())
    }

    fn u32(&mut self, field: FieldId, value: u32) -> Flow {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        let number = |out: &mut Vec<u8>| print::integer(out, value);
        self.scalar(field, number, number)
    }

    fn f64(&mut self, field: FieldId, value: f64) -> Flow {
        self.finite(value)?;
        // Minus zero is there.
        if value.to_bits() == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.begin(field)?;
        print::double(&mut self.out, value);
        Ok(())
    }

    fn f32(&mut self, field: FieldId, value: f32) -> Flow {
        if value.to_bits() == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.begin(field)?;
        print::float(&mut self.out, value);
        Ok(())
    }

    fn bool(&mut self, field: FieldId, value: bool) -> Flow {
        if !value && self.is_absent(field)? {
            return Ok(());
        }
        let text: &[u8] = if value { b"true" } else { b"false" };
        let write = |out: &mut Vec<u8>| out.extend_from_slice(text);
        self.scalar(field, write, write)
    }

    fn start_string(&mut self, field: FieldId, length: usize) -> Flow {
        self.absent = length == 0 && self.is_absent(field)?;
        match self.top.shape {
            _ if self.absent => {}
            Shape::FieldMask => self.text.clear(),
            Shape::Any => {
                if let Some(any) = self.anys.last_mut() {
                    any.type_url.clear();
                }
            }
            Shape::Entry if self.is_key(field) => self.text.clear(),
            _ => {
                self.begin(field)?;
                self.out.push(b'"');
            }
        }
        Ok(())
    }

    fn string(&mut self, field: FieldId, piece: &'a str) -> Flow {
        match self.top.shape {
            Shape::FieldMask => self.text.extend_from_slice(piece.as_bytes()),
            Shape::Any => {
                if let Some(any) = self.anys.last_mut() {
                    any.type_url.extend_from_slice(piece.as_bytes());
                }
            }
            Shape::Entry if self.is_key(field) => print::escape(&mut self.text, piece),
            _ => print::escape(&mut self.out, piece),
        }
        Ok(())
    }

    fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> Flow {
        match crate::utf8::text(piece) {
            Ok(text) => self.string(field, text),
            Err(_) => Err(self.no_utf8(field)),
        }
    }

    fn end_string(&mut self, field: FieldId) -> Flow {
        match self.top.shape {
            _ if self.absent => Ok(()),
            Shape::FieldMask => {
                if std::mem::replace(&mut self.top.comma, true) {
                    self.out.push(b',');
                }
                let path = String::from_utf8_lossy(&self.text);
                let written = time::write_path(&mut self.out, &path);
                written.ok_or_else(|| self.refuse("a path of a FieldMask has no JSON"))
            }
            Shape::Any => Ok(()),
            Shape::Entry if self.is_key(field) => {
                let text = std::mem::take(&mut self.text);
                let flow = self.key(|out| out.extend_from_slice(&text));
                self.text = text;
                flow
            }
            _ => {
                self.out.push(b'"');
                Ok(())
            }
        }
    }

    fn whole_string(&mut self, field: FieldId, text: &'a str) -> Flow {
        if self.top.shape == Shape::Plain && !text.is_empty() {
            self.begin(field)?;
            print::quote(&mut self.out, text);
            return Ok(());
        }
        self.start_string(field, text.len())?;
        self.string(field, text)?;
        self.end_string(field)
    }

    fn start_bytes(&mut self, field: FieldId, length: usize) -> Flow {
        if self.top.shape == Shape::Any {
            if let Some(any) = self.anys.last_mut() {
                any.value.clear();
            }
            return Ok(());
        }
        if self.mapping.field(field).kind == Kind::String {
            // So messages tell of strings that are not UTF-8.
            return Err(self.no_utf8(field));
        }
        self.absent = length == 0 && self.is_absent(field)?;
        if !self.absent {
            self.begin(field)?;
            self.out.push(b'"');
        }
        Ok(())
    }

    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> Flow {
        if self.top.shape == Shape::Any {
            if let Some(any) = self.anys.last_mut() {
                any.value.extend_from_slice(piece);
            }
            return Ok(());
        }
        self.base64.push(&mut self.out, piece);
        Ok(())
    }

    fn end_bytes(&mut self, _: FieldId) -> Flow {
        if self.top.shape != Shape::Any && !self.absent {
            self.base64.finish(&mut self.out);
            self.out.push(b'"');
        }
        Ok(())
    }

    fn unknown(&mut self, number: u32, _: &'a [u8]) -> Flow {
        match self.options.unknown {
            Unknown::Ignore => Ok(()),
            Unknown::Refuse => Err(self.refuse_unknown(self.top.message, number)),
        }
    }

    fn unknown_element(&mut self, number: u32, _: u64) -> Flow {
        self.unknown(number, &[])
    }
}
