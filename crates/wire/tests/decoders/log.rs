//! The events of a decoder, as text.

use std::fmt::Write;

use tidemill_wire::{FieldId, MessageId, Schema, Sink, SinkResult, Stop};

/// A sink that writes a line for each event. Pieces of strings are joined; a string without end is
/// omitted.
pub struct Log<'s> {
    schema: &'s Schema,
    depth: usize,
    pieces: Vec<u8>,
    pub text: String,
    /// Stops at the event after this number of lines.
    pub stop_after: Option<usize>,
    lines: usize,
}

impl<'s> Log<'s> {
    pub fn new(schema: &'s Schema) -> Log<'s> {
        Log {
            schema,
            depth: 0,
            pieces: Vec::new(),
            text: String::new(),
            stop_after: None,
            lines: 0,
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) -> SinkResult {
        let indent = 2 * self.depth;
        if self.stop_after == Some(self.lines) {
            return Err(Stop);
        }
        self.lines += 1;
        writeln!(self.text, "{:indent$}{line}", "").unwrap();
        Ok(())
    }

    fn value(&mut self, field: FieldId, value: std::fmt::Arguments<'_>) -> SinkResult {
        let name = self.name(field);
        self.line(format_args!("{name}: {value}"))
    }

    fn name(&self, field: FieldId) -> String {
        let field = self.schema.field(field);
        match field.extension_name() {
            Some(name) => format!("[{name}]"),
            None => field.name().to_owned(),
        }
    }
}

impl<'a> Sink<'a> for Log<'_> {
    fn start_message(&mut self, message: MessageId) -> SinkResult {
        let name = self.schema.full_name(message).to_owned();
        self.line(format_args!("{name} {{"))?;
        self.depth += 1;
        Ok(())
    }

    fn end_message(&mut self, _: MessageId) -> SinkResult {
        self.depth -= 1;
        self.line(format_args!("}}"))
    }

    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        let name = self.name(field);
        self.line(format_args!("{name} {{"))?;
        self.depth += 1;
        Ok(())
    }

    fn end_sub(&mut self, _: FieldId) -> SinkResult {
        self.depth -= 1;
        self.line(format_args!("}}"))
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        self.value(field, format_args!("i64 {value}"))
    }

    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        self.value(field, format_args!("u64 {value}"))
    }

    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        self.value(field, format_args!("i32 {value}"))
    }

    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        self.value(field, format_args!("u32 {value}"))
    }

    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        self.value(field, format_args!("f64 {value:?} {:#x}", value.to_bits()))
    }

    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        self.value(field, format_args!("f32 {value:?} {:#x}", value.to_bits()))
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        self.value(field, format_args!("{value}"))
    }

    fn start_string(&mut self, _: FieldId, _: usize) -> SinkResult {
        self.pieces.clear();
        Ok(())
    }

    fn string(&mut self, _: FieldId, piece: &'a str) -> SinkResult {
        self.pieces.extend_from_slice(piece.as_bytes());
        Ok(())
    }

    fn raw_string(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        self.pieces.extend_from_slice(piece);
        Ok(())
    }

    fn end_string(&mut self, field: FieldId) -> SinkResult {
        let text = std::mem::take(&mut self.pieces);
        match std::str::from_utf8(&text) {
            Ok(text) => self.value(field, format_args!("{text:?}")),
            Err(_) => self.value(field, format_args!("raw \"{}\"", text.escape_ascii())),
        }
    }

    fn start_bytes(&mut self, _: FieldId, _: usize) -> SinkResult {
        self.pieces.clear();
        Ok(())
    }

    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        self.pieces.extend_from_slice(piece);
        Ok(())
    }

    fn end_bytes(&mut self, field: FieldId) -> SinkResult {
        let bytes = std::mem::take(&mut self.pieces);
        self.value(field, format_args!("bytes \"{}\"", bytes.escape_ascii()))
    }

    fn unknown(&mut self, number: u32, raw: &'a [u8]) -> SinkResult {
        self.line(format_args!("unknown {number}: \"{}\"", raw.escape_ascii()))
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> SinkResult {
        self.line(format_args!("unknown element {number}: {value}"))
    }
}
