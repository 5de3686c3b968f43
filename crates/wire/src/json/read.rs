//! JSON of a schema's messages as a source of events; no document is built.
//!
//! Keys are found by a guess first: the fields after the last one, in the order of numbers that
//! most writers use. A guess costs one comparison of bytes, a miss a look-up in a table.
//!
//! Strings come in one piece: part of the text, or, if they have escapes, of the arena. Errors are
//! reported at the first malformed byte.

use tidemill_stdx::region::Bump;

use super::check::Loosely;
use super::error::{Fault, ReadError, utf8};
use super::lex::{Lex, Lexer};
use super::mapping::Mapping;
use super::names::{Cardinality, FieldMap, MessageForm, NONE, ValueForm};
use super::number::Number;
use super::options::{Names, ReadOptions, Unknown};
use super::{print, scan};
use crate::schema::{EnumId, FieldId, MessageId};
use crate::sink::{Sink, SinkResult};

/// Reads `text`, one JSON value and nothing else, as a message.
///
/// Strings that the text has with escapes, and bytes, are put into `arena`.
///
/// # Errors
/// The text is malformed; the sink has seen the events before the error.
pub fn read<'a, S: Sink<'a>>(
    mapping: &Mapping<'_>,
    message: MessageId,
    text: &'a [u8],
    arena: &'a Bump,
    options: ReadOptions,
    sink: &mut S,
) -> Result<(), ReadError> {
    let lexer = Lexer::new(utf8(text)?, arena);
    let mut reader = MessageReader::new(mapping, lexer, options, sink);
    reader.whole(message).map_err(|fault| fault.explain(text))
}

pub(super) struct MessageReader<'r, 'a, S> {
    pub(super) mapping: &'r Mapping<'r>,
    pub(super) lexer: Lexer<'a>,
    pub(super) options: ReadOptions,
    pub(super) sink: &'r mut S,
    /// The levels of nesting left.
    pub(super) depth: usize,
    /// A bit for each field seen, of all open messages.
    seen: Vec<u64>,
    /// Keys of all open maps.
    keys: Vec<&'a str>,
}

/// The fields tried before a key is looked up, as some may be absent.
const GUESSES: usize = 3;

/// Whether the object of a message is inside an `Any`, whose type is among its keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    Plain,
    InAny,
}

impl<'r, 'a, S: Sink<'a>> MessageReader<'r, 'a, S> {
    pub(super) fn new(
        mapping: &'r Mapping<'r>,
        lexer: Lexer<'a>,
        options: ReadOptions,
        sink: &'r mut S,
    ) -> MessageReader<'r, 'a, S> {
        let (seen, keys) = (Vec::new(), Vec::new());
        MessageReader { mapping, lexer, options, sink, depth: options.depth_max, seen, keys }
    }

    fn whole(&mut self, message: MessageId) -> Lex {
        // The limit counts messages within the outermost, as in binary and text.
        self.depth += 1;
        let flow = self.sink.start_message(message);
        self.proceed(flow)?;
        self.message(message)?;
        if !self.lexer.is_at_end() {
            return Err(self.lexer.expected("the end of the text"));
        }
        let flow = self.sink.end_message(message);
        self.proceed(flow)
    }

    #[inline]
    pub(super) fn proceed(&self, flow: SinkResult) -> Lex {
        flow.map_err(|_| Fault::stopped(self.lexer.at))
    }

    #[cold]
    pub(super) fn fault(&self, message: String) -> Fault {
        Fault::new(self.lexer.at, message)
    }

    /// The value of a message; its beginning has been reported.
    pub(super) fn message(&mut self, message: MessageId) -> Lex {
        match self.mapping.message(message).shape {
            MessageForm::Plain | MessageForm::Entry => self.object(message, Context::Plain),
            shape => self.special(message, shape),
        }
    }

    /// Skips `{` or `[`, if values may nest this deep.
    #[inline]
    pub(super) fn enter(&mut self, byte: u8) -> Lex {
        self.lexer.expect(byte)?;
        if self.depth == 0 {
            return Err(Fault::new(self.lexer.at - 1, "values nest too deep"));
        }
        self.depth -= 1;
        Ok(())
    }

    /// The object of a plain message.
    pub(super) fn object(&mut self, message: MessageId, place: Context) -> Lex {
        self.enter(b'{')?;
        if !self.lexer.take(b'}') {
            let map = self.mapping.message(message);
            let seen = self.seen.len();
            // Almost always one.
            for _ in 0..map.seen.div_ceil(64) {
                self.seen.push(0);
            }
            let mut guess = map.first;
            loop {
                guess = self.member(message, place, guess, seen)?;
                if !self.lexer.more(b'}')? {
                    break;
                }
            }
            self.seen.truncate(seen);
        }
        self.depth += 1;
        Ok(())
    }

    /// Reads one key and its value; returns the next guess.
    #[inline]
    fn member(&mut self, message: MessageId, place: Context, guess: u32, seen: usize) -> Lex<u32> {
        let mapping = self.mapping;
        self.lexer.peek();
        let start = self.lexer.at;
        let rest = &self.lexer.text.as_bytes()[start..];
        let mut likely = guess;
        for _ in 0..GUESSES {
            if likely == NONE {
                break;
            }
            let map = mapping.field(FieldId(likely));
            let (key, length) = mapping.key(map, Names::Json, 1);
            if scan::begins(rest, key, length) {
                self.lexer.at += length;
                self.field(FieldId(likely), map, seen, start)?;
                return Ok(map.next);
            }
            likely = map.next;
        }
        let key = self.lexer.string()?;
        self.lexer.expect(b':')?;
        let Some(field) = mapping.find(message, key) else {
            self.unknown_key(message, place, key, start)?;
            return Ok(guess);
        };
        let map = mapping.field(field);
        self.field(field, map, seen, start)?;
        Ok(map.next)
    }

    #[cold]
    fn unknown_key(&mut self, message: MessageId, place: Context, key: &str, start: usize) -> Lex {
        let is_type = place == Context::InAny && key == "@type";
        if is_type || self.options.unknown == Unknown::Ignore {
            return self.lexer.skip(self.depth, Loosely);
        }
        let name = self.mapping.schema.full_name(message);
        Err(Fault::new(start, format!("message {name} has no field `{key}`")))
    }

    /// The value of a field.
    #[inline]
    fn field(&mut self, field: FieldId, map: &FieldMap, seen: usize, key: usize) -> Lex {
        if self.lexer.peek() == b'n' && !self.takes_null(map) {
            return self.lexer.literal("null");
        }
        let bit = 1 << (map.seen % 64);
        let word = &mut self.seen[seen + (map.seen / 64) as usize];
        if *word & bit != 0 {
            return Err(self.twice(field, key));
        }
        *word |= bit;
        let read = match map.list {
            Cardinality::Single => self.value(field, map.kind),
            Cardinality::Repeated => self.list(field, map.kind),
            Cardinality::Map => self.map(field, map.kind),
        };
        read.map_err(|fault| fault.within(self.mapping.schema.field(field).name()))
    }

    #[cold]
    fn twice(&self, field: FieldId, key: usize) -> Fault {
        let field = self.mapping.schema.field(field);
        match field.oneof() {
            None => Fault::new(key, format!("field `{}` is there twice", field.name())),
            Some(oneof) => {
                let name = self.mapping.schema.oneof(oneof).name();
                Fault::new(key, format!("oneof `{name}` is set twice"))
            }
        }
    }

    /// True if null is a value of it, and does not mean absence.
    fn takes_null(&self, map: &FieldMap) -> bool {
        map.list == Cardinality::Single && self.kind_takes_null(map.kind)
    }

    fn kind_takes_null(&self, kind: ValueForm) -> bool {
        match kind {
            ValueForm::Null => true,
            ValueForm::Message(message) => {
                self.mapping.message(message).shape == MessageForm::Value
            }
            _ => false,
        }
    }

    pub(super) fn list(&mut self, field: FieldId, kind: ValueForm) -> Lex {
        self.lexer.expect(b'[')?;
        if !self.lexer.take(b']') {
            let takes_null = self.kind_takes_null(kind);
            let mut at = 0usize;
            loop {
                if self.lexer.peek() == b'n' && !takes_null {
                    return Err(self.lexer.expected("a value that is not null"));
                }
                self.value(field, kind).map_err(|fault| fault.within(&at.to_string()))?;
                if !self.lexer.more(b']')? {
                    break;
                }
                at += 1;
            }
        }
        Ok(())
    }

    pub(super) fn map(&mut self, field: FieldId, kind: ValueForm) -> Lex {
        let ValueForm::Message(entry) = kind else { return Err(self.fault("no entry".to_owned())) };
        let schema = self.mapping.schema;
        let (key, value) = (schema.field_by_number(entry, 1), schema.field_by_number(entry, 2));
        let (Some(key), Some(value)) = (key, value) else {
            return Err(self.fault("no entry".to_owned()));
        };
        self.lexer.expect(b'{')?;
        let keys = self.keys.len();
        let start = self.lexer.at;
        if !self.lexer.take(b'}') {
            loop {
                let name = self.lexer.string()?;
                self.keys.push(name);
                self.lexer.expect(b':')?;
                self.entry(field, (key, name), value).map_err(|fault| fault.within(name))?;
                if !self.lexer.more(b'}')? {
                    break;
                }
            }
        }
        self.check_keys(keys, start)
    }

    fn entry(&mut self, field: FieldId, (key, name): (FieldId, &'a str), value: FieldId) -> Lex {
        let kind = self.mapping.field(value).kind;
        if self.lexer.peek() == b'n' && !self.kind_takes_null(kind) {
            return Err(self.lexer.expected("a value that is not null"));
        }
        if let ValueForm::Enum(id) = kind {
            // An entry without a known value is skipped as a whole.
            let Some(number) = self.enum_number(id)? else { return Ok(()) };
            self.start_entry(field, key, name)?;
            let flow = self.sink.i32(value, number);
            self.proceed(flow)?;
        } else {
            self.start_entry(field, key, name)?;
            self.value(value, kind)?;
        }
        let flow = self.sink.end_sub(field);
        self.proceed(flow)
    }

    fn start_entry(&mut self, field: FieldId, key: FieldId, name: &'a str) -> Lex {
        let flow = self.sink.start_sub(field);
        self.proceed(flow)?;
        self.map_key(key, name)
    }

    fn map_key(&mut self, field: FieldId, name: &'a str) -> Lex {
        let kind = self.mapping.field(field).kind;
        match kind {
            ValueForm::String => return self.emit_string(field, name),
            ValueForm::Bool => {
                let value = match name {
                    "true" => true,
                    "false" => false,
                    _ => return Err(self.fault(format!("`{name}` is no bool"))),
                };
                let flow = self.sink.bool(field, value);
                return self.proceed(flow);
            }
            _ => {}
        }
        let number = whole_number(name);
        let number = number.ok_or_else(|| self.fault(format!("`{name}` is no number")))?;
        self.emit_integer(field, kind, number)
    }

    /// Refuses duplicate keys. Sorted ones, as most writers have them, need one pass.
    fn check_keys(&mut self, from: usize, at: usize) -> Lex {
        let keys = &mut self.keys[from..];
        if !keys.is_sorted_by(|a, b| a < b) {
            keys.sort_unstable();
            if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Fault::new(at, format!("key `{}` is there twice", twice[0])));
            }
        }
        self.keys.truncate(from);
        Ok(())
    }

    /// One value of a field.
    #[inline]
    pub(super) fn value(&mut self, field: FieldId, kind: ValueForm) -> Lex {
        let flow = match kind {
            ValueForm::String => {
                let text = self.lexer.string()?;
                return self.emit_string(field, text);
            }
            ValueForm::Int64 | ValueForm::Uint64 | ValueForm::Int32 | ValueForm::Uint32 => {
                if let Some(flow) = self.short_integer(field, kind) {
                    return self.proceed(flow);
                }
                let number = self.maybe_quoted(whole_number)?;
                return self.emit_integer(field, kind, number);
            }
            ValueForm::Double => {
                let value = self.double()?;
                self.sink.f64(field, value)
            }
            ValueForm::Float => {
                let value = self.float()?;
                self.sink.f32(field, value)
            }
            ValueForm::Bool => {
                let value = self.lexer.truth()?;
                self.sink.bool(field, value)
            }
            ValueForm::Bytes => return self.bytes(field),
            ValueForm::Enum(id) => match self.enum_number(id)? {
                Some(number) => self.sink.i32(field, number),
                None => Ok(()),
            },
            ValueForm::Null => {
                self.null_value()?;
                self.sink.i32(field, 0)
            }
            ValueForm::Message(message) => return self.sub_message(field, message),
        };
        self.proceed(flow)
    }

    /// A short integer, if it is in the range of this type.
    #[inline]
    fn short_integer(&mut self, field: FieldId, kind: ValueForm) -> Option<SinkResult> {
        let at = self.lexer.at;
        let value = self.lexer.short_integer()?;
        let flow = match kind {
            ValueForm::Int64 => Some(self.sink.i64(field, value)),
            ValueForm::Uint64 => u64::try_from(value).ok().map(|value| self.sink.u64(field, value)),
            ValueForm::Int32 => i32::try_from(value).ok().map(|value| self.sink.i32(field, value)),
            _ => u32::try_from(value).ok().map(|value| self.sink.u32(field, value)),
        };
        if flow.is_none() {
            self.lexer.at = at;
        }
        flow
    }

    fn sub_message(&mut self, field: FieldId, message: MessageId) -> Lex {
        let flow = self.sink.start_sub(field);
        self.proceed(flow)?;
        self.message(message)?;
        let flow = self.sink.end_sub(field);
        self.proceed(flow)
    }

    #[inline]
    pub(super) fn emit_string(&mut self, field: FieldId, text: &'a str) -> Lex {
        let flow = self.sink.whole_string(field, text);
        self.proceed(flow)
    }

    pub(super) fn emit_bytes(&mut self, field: FieldId, bytes: &'a [u8]) -> Lex {
        let flow = self.sink.start_bytes(field, bytes.len());
        self.proceed(flow)?;
        let flow = self.sink.bytes(field, bytes);
        self.proceed(flow)?;
        let flow = self.sink.end_bytes(field);
        self.proceed(flow)
    }

    fn bytes(&mut self, field: FieldId) -> Lex {
        self.lexer.peek();
        let at = self.lexer.at;
        let text = self.lexer.string()?;
        let mut out = Vec::new();
        print::unbase64(&mut out, text).ok_or_else(|| Fault::new(at, "this is no base64"))?;
        let bytes = self.lexer.arena.alloc_bytes(&out);
        self.emit_bytes(field, bytes)
    }

    #[inline]
    fn emit_integer(&mut self, field: FieldId, kind: ValueForm, number: Number<'_>) -> Lex {
        let flow = match kind {
            ValueForm::Int64 => number.to_i64().map(|value| self.sink.i64(field, value)),
            ValueForm::Uint64 => number.to_u64().map(|value| self.sink.u64(field, value)),
            ValueForm::Int32 => {
                let value = number.to_i64().and_then(|value| i32::try_from(value).ok());
                value.map(|value| self.sink.i32(field, value))
            }
            _ => {
                let value = number.to_u64().and_then(|value| u32::try_from(value).ok());
                value.map(|value| self.sink.u32(field, value))
            }
        };
        match flow {
            Some(flow) => self.proceed(flow),
            None => Err(self.misfit(kind, number)),
        }
    }

    #[cold]
    fn misfit(&self, kind: ValueForm, number: Number<'_>) -> Fault {
        let (text, kind) = (number.text(), format!("{kind:?}").to_lowercase());
        self.fault(format!("{text} is no {kind}"))
    }

    /// A number, or a string with one in it.
    #[inline]
    fn maybe_quoted(&mut self, parse: impl Fn(&str) -> Option<Number<'_>>) -> Lex<Number<'a>> {
        if self.lexer.peek() != b'"' {
            return self.lexer.number();
        }
        let at = self.lexer.at;
        let text = self.lexer.string()?;
        parse(text).ok_or_else(|| Fault::new(at, format!("`{text}` is no number")))
    }

    #[inline]
    pub(super) fn double(&mut self) -> Lex<f64> {
        if self.lexer.peek() == b'"' {
            return self.quoted_double();
        }
        let at = self.lexer.at;
        let number = self.lexer.number()?;
        number.to_f64().ok_or_else(|| Fault::new(at, "the number is too large for a double"))
    }

    fn quoted_double(&mut self) -> Lex<f64> {
        let at = self.lexer.at;
        let text = self.lexer.string()?;
        let value = match text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => whole_number(text).and_then(Number::to_f64),
        };
        value.ok_or_else(|| Fault::new(at, format!("`{text}` is no double")))
    }

    fn float(&mut self) -> Lex<f32> {
        let at = self.lexer.at;
        if self.lexer.peek() != b'"' {
            let number = self.lexer.number()?;
            let value = number.to_f32();
            return value.ok_or_else(|| Fault::new(at, "the number is too large for a float"));
        }
        let text = self.lexer.string()?;
        let value = match text {
            "NaN" => Some(f32::NAN),
            "Infinity" => Some(f32::INFINITY),
            "-Infinity" => Some(f32::NEG_INFINITY),
            _ => whole_number(text).and_then(Number::to_f32),
        };
        value.ok_or_else(|| Fault::new(at, format!("`{text}` is no float")))
    }

    /// The number of an enum's value; none for a name that is unknown and to be ignored.
    fn enum_number(&mut self, id: EnumId) -> Lex<Option<i32>> {
        let found = self.mapping.schema.enum_def(id);
        let first = self.lexer.peek();
        let at = self.lexer.at;
        if first == b'"' {
            let name = self.lexer.string()?;
            if let Some(value) = found.value_by_name(name) {
                return Ok(Some(value.number()));
            }
            if self.options.unknown == Unknown::Ignore {
                return Ok(None);
            }
            let message = format!("enum {} has no value `{name}`", found.full_name());
            return Err(Fault::new(at, message));
        }
        if first == b'n' {
            return Err(self.lexer.expected("the name of a value"));
        }
        let number = self.lexer.number()?;
        let number = number.to_i64().and_then(|value| i32::try_from(value).ok());
        number.map(Some).ok_or_else(|| Fault::new(at, "this is no int32"))
    }

    /// `null`, or another form of its enum.
    fn null_value(&mut self) -> Lex {
        if self.lexer.peek() == b'n' {
            return self.lexer.literal("null");
        }
        let at = self.lexer.at;
        let fits = match self.lexer.peek() {
            b'"' => self.lexer.string()? == "NULL_VALUE",
            _ => self.lexer.number()?.to_i64() == Some(0),
        };
        if fits { Ok(()) } else { Err(Fault::new(at, "null is expected")) }
    }
}

/// Parses a text that is a number and nothing else.
pub(super) fn whole_number(text: &str) -> Option<Number<'_>> {
    let number = Number::read(text, 0).ok()?;
    (number.end() == text.len()).then_some(number)
}
