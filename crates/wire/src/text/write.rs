//! Events into text. Lists may be spread: text may have their elements anywhere. A field that
//! comes twice, or a second member of a oneof, needs to be merged first, as for JSON.

use super::{any, group_name, literal, unknown};
use crate::escape;
use crate::json::print;
use crate::json::{EnumName, FieldMap, Kind, List, Mapping, Shape, WriteProblem};
use crate::schema::raw::put_varint;
use crate::schema::{FieldId, MessageId};
use crate::sink::{Flow, Sink, Stop};

/// How text is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TextPrintOptions {
    /// Lines.
    pub layout: Layout,
    /// Unknown fields, which text may have by number, but which cannot be read.
    pub unknown: PrintUnknown,
}

/// How fields stand on lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// Each on its line, indented.
    #[default]
    Lines,
    /// All on one.
    OneLine,
}

/// What becomes of unknown fields.
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
    options: TextPrintOptions,
    pub(super) out: Vec<u8>,
    here: Frame,
    frames: Vec<Frame>,
    /// A bit for each field that was there, of all open messages.
    seen: Vec<u64>,
    indent: usize,
    /// The string or bytes that are open are not written: they are empty, and so absent.
    absent: bool,
    /// What `Any` fields hold, innermost last: type and value.
    anys: Vec<(Vec<u8>, Vec<u8>)>,
    problem: Option<WriteProblem>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    shape: Shape,
    seen: usize,
}

impl<'m, 's> TextSink<'m, 's> {
    /// A sink.
    pub fn new(mapping: &'m Mapping<'s>, options: TextPrintOptions) -> TextSink<'m, 's> {
        TextSink {
            mapping,
            options,
            out: Vec::new(),
            here: Frame { shape: Shape::Plain, seen: 0 },
            frames: Vec::new(),
            seen: Vec::new(),
            indent: 0,
            absent: false,
            anys: Vec::new(),
            problem: None,
        }
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// What was written, taken out.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Forgets what was written, and keeps the memory.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    /// Why it stopped the last walk.
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

    fn open(&mut self, message: MessageId) {
        let map = self.mapping.message(message);
        let seen = self.seen.len();
        self.seen.resize(seen + map.seen.div_ceil(64) as usize, 0);
        self.here = Frame { shape: map.shape, seen };
        if map.shape == Shape::Any {
            self.anys.push(Default::default());
        }
    }

    fn close(&mut self) {
        if self.here.shape == Shape::Any {
            let (type_url, value) = self.anys.pop().unwrap_or_default();
            if !any::expand(self, &type_url, &value) {
                for (name, bytes) in [("type_url", type_url), ("value", value)] {
                    if !bytes.is_empty() {
                        self.any_part(name, &bytes);
                    }
                }
            }
        }
        self.seen.truncate(self.here.seen);
    }

    fn any_part(&mut self, name: &str, bytes: &[u8]) {
        self.start_line();
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": \"");
        escape::escape_bytes(&mut self.out, bytes);
        self.out.push(b'"');
        self.end_line();
    }

    /// Opens the message inside of an `Any`.
    pub(super) fn open_any(&mut self, message: MessageId, type_url: &str) {
        self.start_line();
        self.out.extend_from_slice(format!("[{type_url}]").as_bytes());
        self.open_brace();
        self.frames.push(self.here);
        self.open(message);
    }

    /// Ends it.
    pub(super) fn close_any(&mut self) -> Flow {
        self.close();
        self.here = self.frames.pop().ok_or(Stop)?;
        self.close_brace();
        self.end_line();
        Ok(())
    }

    /// Notes that a field was there, which no field is twice that is no list.
    fn note(&mut self, map: &FieldMap) -> Flow {
        if map.list == List::Single {
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

    /// True if zero, or an empty string, is not written, as it stands for the field's absence.
    fn is_absent(&mut self, field: FieldId) -> Result<bool, Stop> {
        let map = self.mapping.field(field);
        let absent = map.implicit && self.here.shape != Shape::Entry;
        if absent {
            self.note(map)?;
        }
        Ok(absent)
    }

    /// Notes a field, and writes its name.
    fn begin(&mut self, field: FieldId) -> Flow {
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

    fn scalar(&mut self, field: FieldId, write: impl FnOnce(&mut Vec<u8>)) -> Flow {
        self.begin(field)?;
        self.out.extend_from_slice(b": ");
        write(&mut self.out);
        self.end_line();
        Ok(())
    }

    /// What to return to if a message is to be written again.
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

impl<'a> Sink<'a> for TextSink<'_, '_> {
    fn start_message(&mut self, message: MessageId) -> Flow {
        self.frames.clear();
        self.seen.clear();
        self.anys.clear();
        self.indent = 0;
        self.problem = None;
        self.open(message);
        Ok(())
    }

    fn end_message(&mut self, _: MessageId) -> Flow {
        self.close();
        Ok(())
    }

    fn start_sub(&mut self, field: FieldId) -> Flow {
        self.begin(field)?;
        self.open_brace();
        let Kind::Message(message) = self.mapping.field(field).kind else { return Err(Stop) };
        self.frames.push(self.here);
        self.open(message);
        Ok(())
    }

    fn end_sub(&mut self, _: FieldId) -> Flow {
        self.close();
        self.here = self.frames.pop().ok_or(Stop)?;
        self.close_brace();
        self.end_line();
        Ok(())
    }

    fn i64(&mut self, field: FieldId, value: i64) -> Flow {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| print::integer(out, value))
    }

    fn u64(&mut self, field: FieldId, value: u64) -> Flow {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| print::integer(out, value))
    }

    fn i32(&mut self, field: FieldId, value: i32) -> Flow {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        let mapping = self.mapping;
        let name = match mapping.field(field).kind {
            Kind::Enum(id) => mapping.enum_name(id, value),
            Kind::Null if value == 0 => Some(EnumName::Bare("NULL_VALUE")),
            _ => None,
        };
        self.scalar(field, |out| match name {
            Some(EnumName::Quoted(name)) => {
                out.extend_from_slice(name.trim_matches('"').as_bytes());
            }
            Some(EnumName::Bare(name)) => out.extend_from_slice(name.as_bytes()),
            None => print::integer(out, value),
        })
    }

    fn u32(&mut self, field: FieldId, value: u32) -> Flow {
        if value == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| print::integer(out, value))
    }

    fn f64(&mut self, field: FieldId, value: f64) -> Flow {
        // Minus zero is there.
        if value.to_bits() == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| literal::double(out, value))
    }

    fn f32(&mut self, field: FieldId, value: f32) -> Flow {
        if value.to_bits() == 0 && self.is_absent(field)? {
            return Ok(());
        }
        self.scalar(field, |out| literal::float(out, value))
    }

    fn bool(&mut self, field: FieldId, value: bool) -> Flow {
        if !value && self.is_absent(field)? {
            return Ok(());
        }
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.scalar(field, |out| out.extend_from_slice(text))
    }

    fn start_string(&mut self, field: FieldId, length: usize) -> Flow {
        match self.anys.last_mut() {
            Some(any) if self.here.shape == Shape::Any => any.0.clear(),
            _ => {
                self.absent = length == 0 && self.is_absent(field)?;
                if self.absent {
                    return Ok(());
                }
                self.begin(field)?;
                self.out.extend_from_slice(b": \"");
            }
        }
        Ok(())
    }

    fn string(&mut self, _: FieldId, piece: &'a str) -> Flow {
        match self.anys.last_mut() {
            Some(any) if self.here.shape == Shape::Any => {
                any.0.extend_from_slice(piece.as_bytes());
            }
            _ => escape::escape_text(&mut self.out, piece),
        }
        Ok(())
    }

    fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> Flow {
        match std::str::from_utf8(piece) {
            Ok(text) => self.string(field, text),
            Err(_) => {
                escape::escape_bytes(&mut self.out, piece);
                Ok(())
            }
        }
    }

    fn end_string(&mut self, _: FieldId) -> Flow {
        if self.here.shape != Shape::Any && !self.absent {
            self.out.push(b'"');
            self.end_line();
        }
        Ok(())
    }

    fn start_bytes(&mut self, field: FieldId, length: usize) -> Flow {
        match self.anys.last_mut() {
            Some(any) if self.here.shape == Shape::Any => any.1.clear(),
            _ => {
                self.absent = length == 0 && self.is_absent(field)?;
                if self.absent {
                    return Ok(());
                }
                self.begin(field)?;
                self.out.extend_from_slice(b": \"");
            }
        }
        Ok(())
    }

    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> Flow {
        match self.anys.last_mut() {
            Some(any) if self.here.shape == Shape::Any => any.1.extend_from_slice(piece),
            _ => escape::escape_bytes(&mut self.out, piece),
        }
        Ok(())
    }

    fn end_bytes(&mut self, field: FieldId) -> Flow {
        self.end_string(field)
    }

    fn unknown(&mut self, _: u32, raw: &'a [u8]) -> Flow {
        if self.options.unknown == PrintUnknown::Print {
            unknown::write(self, raw);
        }
        Ok(())
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> Flow {
        let mut raw = Vec::new();
        put_varint(&mut raw, number, value);
        if self.options.unknown == PrintUnknown::Print {
            unknown::write(self, &raw);
        }
        Ok(())
    }
}
