//! Text as a source of events.

use tidemill_stdx::region::Bump;

use super::lex::{Lex, Lexer};
use super::literal::{decimal, integer};
use super::names::{group_name, is_of_url};
use crate::encode::BinarySink;
use crate::json::{
    Cardinality, Fault, Mapping, MessageForm, ReadError, ValueForm, message_of, utf8,
};
use crate::schema::{EnumId, FieldId, FieldType, Label, MessageId};
use crate::sink::{Sink, SinkResult};

/// The options of reading text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextReadOptions {
    /// The maximal nesting of messages.
    pub depth_max: usize,
    /// The treatment of missing required fields.
    pub required: Required,
}

/// The treatment of missing required fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Required {
    /// They are an error.
    #[default]
    Check,
    /// They are accepted.
    Ignore,
}

impl Default for TextReadOptions {
    fn default() -> TextReadOptions {
        TextReadOptions { depth_max: crate::decode::DEPTH_MAX, required: Required::Check }
    }
}

/// Reads `text` as a message.
///
/// Strings that the text has in pieces or with escapes are put into `arena`.
///
/// # Errors
/// The error in the text; the sink has received the events before it.
pub fn read<'a, S: Sink<'a>>(
    mapping: &Mapping<'_>,
    message: MessageId,
    text: &'a [u8],
    arena: &'a Bump,
    options: TextReadOptions,
    sink: &mut S,
) -> Result<(), ReadError> {
    let lexer = Lexer::new(utf8(text)?, arena);
    let depth = options.depth_max;
    let mut reader = TextReader { mapping, lexer, options, sink, depth, seen: Vec::new() };
    reader.whole(message).map_err(|fault| fault.explain(text))
}

struct TextReader<'r, 'a, S> {
    mapping: &'r Mapping<'r>,
    lexer: Lexer<'a>,
    options: TextReadOptions,
    sink: &'r mut S,
    depth: usize,
    /// A bit for each field seen, for all open messages.
    seen: Vec<u64>,
}

/// The name before a value.
enum Name<'a> {
    Field(FieldId),
    /// The type of a message in an `Any`, and its URL.
    Any(MessageId, &'a str),
    /// A reserved name: its value is skipped.
    Reserved,
}

impl<'a, S: Sink<'a>> TextReader<'_, 'a, S> {
    fn whole(&mut self, message: MessageId) -> Lex {
        let flow = self.sink.start_message(message);
        self.proceed(flow)?;
        self.fields(message, 0)?;
        let flow = self.sink.end_message(message);
        self.proceed(flow)
    }

    fn proceed(&self, flow: SinkResult) -> Lex {
        flow.map_err(|_| Fault::stopped(self.lexer.at()))
    }

    /// Fields up to `end`; 0 is the end of the text.
    fn fields(&mut self, message: MessageId, end: u8) -> Lex {
        let seen = self.seen.len();
        let words = self.mapping.message(message).seen.div_ceil(64) as usize;
        self.seen.resize(seen + words, 0);
        loop {
            if end == 0 && self.lexer.is_at_end() || end != 0 && self.lexer.take(end) {
                break;
            }
            self.one(message, seen)?;
            if !self.lexer.take(b',') {
                self.lexer.take(b';');
            }
        }
        self.check_required(message, seen)?;
        self.seen.truncate(seen);
        Ok(())
    }

    fn check_required(&self, message: MessageId, seen: usize) -> Lex {
        if self.options.required == Required::Ignore {
            return Ok(());
        }
        for field in self.mapping.schema().message(message).field_defs() {
            if field.label() == Label::Required && !self.is_seen(field.id(), seen) {
                let message = format!("required field `{}` is missing", field.name());
                return Err(Fault::new(self.lexer.at(), message));
            }
        }
        Ok(())
    }

    fn is_seen(&self, field: FieldId, seen: usize) -> bool {
        let place = self.mapping.field(field).seen;
        self.seen[seen + (place / 64) as usize] >> (place % 64) & 1 == 1
    }

    /// Records a singular field, which may occur once.
    fn note(&mut self, field: FieldId, seen: usize, at: usize) -> Lex {
        if self.mapping.field(field).list != Cardinality::Single {
            return Ok(());
        }
        let place = self.mapping.field(field).seen;
        if self.is_seen(field, seen) {
            let name = self.mapping.schema().field(field).name();
            return Err(Fault::new(at, format!("field `{name}`, or its oneof, is set twice")));
        }
        self.seen[seen + (place / 64) as usize] |= 1 << (place % 64);
        Ok(())
    }

    /// One field with its values.
    fn one(&mut self, message: MessageId, seen: usize) -> Lex {
        self.lexer.peek();
        let at = self.lexer.at();
        match self.name(message)? {
            Name::Field(field) => {
                self.note(field, seen, at)?;
                let read = self.values(field);
                read.map_err(|fault| fault.within(self.mapping.schema().field(field).name()))
            }
            Name::Any(inner, type_url) => self.any(message, inner, type_url, (seen, at)),
            Name::Reserved => self.skip_field(),
        }
    }

    fn name(&mut self, message: MessageId) -> Lex<Name<'a>> {
        let at = self.lexer.at();
        let mapping = self.mapping;
        if self.lexer.take(b'[') {
            return self.bracket_name(message, at);
        }
        let Some(name) = self.lexer.word() else {
            return Err(self.lexer.expected("the name of a field"));
        };
        let schema = mapping.schema();
        let def = schema.message(message);
        let by_group = || {
            let lower = name.to_ascii_lowercase();
            let field = def.field_by_name(&lower)?;
            (group_name(schema, field.id()) == Some(name)).then(|| field.id())
        };
        if let Some(field) = def.field_by_name(name) {
            return Ok(Name::Field(field.id()));
        }
        if let Some(field) = by_group() {
            return Ok(Name::Field(field));
        }
        if def.reserved_names().iter().any(|reserved| **reserved == *name) {
            return Ok(Name::Reserved);
        }
        let message = format!("message {} has no field `{name}`", def.full_name());
        Err(Fault::new(at, message))
    }

    fn bracket_name(&mut self, message: MessageId, at: usize) -> Lex<Name<'a>> {
        let mut name = String::new();
        while !self.lexer.take(b']') {
            match self.lexer.peek() {
                byte if is_of_url(byte) => {
                    name.push(char::from(byte));
                    self.lexer.cursor.skip(1);
                }
                _ => return Err(self.lexer.expected("`]`")),
            }
        }
        let schema = self.mapping.schema();
        if name.contains('/') {
            let shape = self.mapping.message(message).shape;
            return match message_of(schema, &name) {
                Some(inner) if shape == MessageForm::Any => {
                    Ok(Name::Any(inner, self.lexer.arena.alloc_str(&name)))
                }
                _ => Err(Fault::new(at, format!("nothing of type `{name}` can be here"))),
            };
        }
        let field = schema.extension_by_name(&name);
        match field.filter(|&field| schema.field(field).message() == message) {
            Some(field) => Ok(Name::Field(field)),
            None => {
                let message = schema.full_name(message);
                Err(Fault::new(at, format!("message {message} has no extension `{name}`")))
            }
        }
    }

    fn any(
        &mut self,
        message: MessageId,
        inner: MessageId,
        type_url: &'a str,
        (seen, at): (usize, usize),
    ) -> Lex {
        let schema = self.mapping.schema();
        let fields = (schema.field_by_number(message, 1), schema.field_by_number(message, 2));
        let (Some(url_field), Some(value_field)) = fields else {
            return Err(Fault::new(at, "this is no Any"));
        };
        self.note(url_field, seen, at)?;
        self.note(value_field, seen, at)?;
        self.lexer.take(b':');
        let mut sink = BinarySink::new(schema);
        let (options, depth) = (self.options, self.depth);
        let lexer = self.lexer;
        let mut reader = TextReader {
            mapping: self.mapping,
            lexer,
            options,
            sink: &mut sink,
            depth,
            seen: Vec::new(),
        };
        let flow = reader.sink.start_message(inner);
        reader.proceed(flow)?;
        reader.braces(inner)?;
        let flow = reader.sink.end_message(inner);
        reader.proceed(flow)?;
        self.lexer = reader.lexer;
        let bytes = self.lexer.arena.alloc_bytes(sink.bytes());
        self.emit_string(url_field, type_url)?;
        self.emit_bytes(value_field, bytes)
    }

    /// A message with its braces.
    fn braces(&mut self, message: MessageId) -> Lex {
        let end = match self.lexer.peek() {
            b'{' => b'}',
            b'<' => b'>',
            _ => return Err(self.lexer.expected("`{`")),
        };
        if self.depth == 0 {
            return Err(Fault::new(self.lexer.at(), "messages nest too deep"));
        }
        self.lexer.cursor.skip(1);
        self.depth -= 1;
        self.fields(message, end)?;
        self.depth += 1;
        Ok(())
    }

    /// Colon and value, or values in brackets.
    fn values(&mut self, field: FieldId) -> Lex {
        let map = self.mapping.field(field);
        let (kind, list) = (map.kind, map.list);
        let colon = self.lexer.take(b':');
        if !colon && !matches!(kind, ValueForm::Message(_)) {
            return Err(self.lexer.expected("`:`"));
        }
        if list == Cardinality::Single || !self.lexer.take(b'[') {
            return self.value(field, kind);
        }
        if self.lexer.take(b']') {
            return Ok(());
        }
        loop {
            self.value(field, kind)?;
            if self.lexer.take(b']') {
                return Ok(());
            }
            if !self.lexer.take(b',') {
                return Err(self.lexer.expected("`,` or `]`"));
            }
        }
    }

    fn value(&mut self, field: FieldId, kind: ValueForm) -> Lex {
        if let ValueForm::Message(message) = kind {
            let flow = self.sink.start_sub(field);
            self.proceed(flow)?;
            self.braces(message)?;
            let flow = self.sink.end_sub(field);
            return self.proceed(flow);
        }
        self.lexer.peek();
        let at = self.lexer.at();
        let flow = match kind {
            ValueForm::String => return self.string(field, at),
            ValueForm::Bytes => {
                let bytes = self.lexer.strings()?;
                return self.emit_bytes(field, bytes);
            }
            ValueForm::Bool => {
                let value = self.truth()?;
                self.sink.bool(field, value)
            }
            ValueForm::Double => {
                let value = self.double()?;
                self.sink.f64(field, value)
            }
            ValueForm::Float => {
                let value = self.float()?;
                self.sink.f32(field, value)
            }
            ValueForm::Enum(id) => {
                let value = self.enum_number(id)?;
                self.sink.i32(field, value)
            }
            ValueForm::Null => {
                // Only JSON has a special form for it.
                let ty = self.mapping.schema().field(field).field_type();
                let FieldType::Enum(id) = ty else { return Err(Fault::stopped(at)) };
                let value = self.enum_number(id)?;
                self.sink.i32(field, value)
            }
            ValueForm::Int64 => {
                let value = self.integer(i64::MIN.into(), i64::MAX.into())?;
                self.sink.i64(field, value as i64)
            }
            ValueForm::Uint64 => {
                let value = self.integer(0, u64::MAX.into())?;
                self.sink.u64(field, value as u64)
            }
            ValueForm::Int32 => {
                let value = self.integer(i32::MIN.into(), i32::MAX.into())?;
                self.sink.i32(field, value as i32)
            }
            ValueForm::Uint32 => {
                let value = self.integer(0, u32::MAX.into())?;
                self.sink.u32(field, value as u32)
            }
            ValueForm::Message(_) => Ok(()),
        };
        self.proceed(flow)
    }

    fn string(&mut self, field: FieldId, at: usize) -> Lex {
        let bytes = self.lexer.strings()?;
        match std::str::from_utf8(bytes) {
            Ok(text) => self.emit_string(field, text),
            Err(_) if self.mapping.schema().field(field).checks_utf8() => {
                Err(Fault::new(at, "this is not UTF-8"))
            }
            // A string that need not be UTF-8, and is not.
            Err(_) => self.emit_bytes(field, bytes),
        }
    }

    fn emit_string(&mut self, field: FieldId, text: &'a str) -> Lex {
        let flow = self.sink.start_string(field, text.len());
        self.proceed(flow)?;
        let flow = self.sink.string(field, text);
        self.proceed(flow)?;
        let flow = self.sink.end_string(field);
        self.proceed(flow)
    }

    fn emit_bytes(&mut self, field: FieldId, bytes: &'a [u8]) -> Lex {
        let flow = self.sink.start_bytes(field, bytes.len());
        self.proceed(flow)?;
        let flow = self.sink.bytes(field, bytes);
        self.proceed(flow)?;
        let flow = self.sink.end_bytes(field);
        self.proceed(flow)
    }

    fn truth(&mut self) -> Lex<bool> {
        let at = self.lexer.at();
        let value = match self.lexer.word() {
            Some("true" | "True" | "t") => Some(true),
            Some("false" | "False" | "f") => Some(false),
            Some(_) => None,
            None => match integer(self.lexer.number()?) {
                Some(0) => Some(false),
                Some(1) => Some(true),
                _ => None,
            },
        };
        value.ok_or_else(|| Fault::new(at, "true or false is expected"))
    }

    fn enum_number(&mut self, id: EnumId) -> Lex<i32> {
        let found = self.mapping.schema().enum_def(id);
        let at = self.lexer.at();
        let value = match self.lexer.word() {
            Some(word) => found.value_by_name(word).map(|value| value.number()),
            None => {
                let number = self.integer(i32::MIN.into(), i32::MAX.into())? as i32;
                (!found.is_closed() || found.value_by_number(number).is_some()).then_some(number)
            }
        };
        value.ok_or_else(|| {
            Fault::new(at, format!("this is no value of enum {}", found.full_name()))
        })
    }

    /// An integer within bounds.
    fn integer(&mut self, lowest: i128, highest: i128) -> Lex<i128> {
        self.lexer.peek();
        let at = self.lexer.at();
        let negative = self.lexer.take(b'-');
        let text = self.lexer.number()?;
        let amount = integer(text).ok_or_else(|| Fault::new(at, "an integer is expected"))?;
        let amount = i128::try_from(amount).unwrap_or(i128::MAX);
        let value = if negative { -amount } else { amount };
        if (lowest..=highest).contains(&value) && !(negative && lowest == 0) {
            Ok(value)
        } else {
            Err(Fault::new(at, "the integer is out of range"))
        }
    }

    /// A sign, and a number that Rust can parse.
    fn decimal(&mut self) -> Lex<(bool, &'a str)> {
        self.lexer.peek();
        let at = self.lexer.at();
        let negative = self.lexer.take(b'-');
        if let Some(word) = self.lexer.word() {
            let known = ["inf", "infinity", "nan"].map(|name| word.eq_ignore_ascii_case(name));
            return match known {
                [false, false, false] => Err(Fault::new(at, "a number is expected")),
                // The sign of a NaN is ignored.
                [_, _, true] => Ok((false, "nan")),
                _ => Ok((negative, "inf")),
            };
        }
        let text = self.lexer.number()?;
        let text = decimal(text).ok_or_else(|| Fault::new(at, "a decimal is expected"))?;
        Ok((negative, text))
    }

    fn double(&mut self) -> Lex<f64> {
        let at = self.lexer.at();
        let (negative, text) = self.decimal()?;
        let value: f64 = text.parse().map_err(|_| Fault::new(at, "a decimal is expected"))?;
        Ok(if negative { -value } else { value })
    }

    fn float(&mut self) -> Lex<f32> {
        let at = self.lexer.at();
        let (negative, text) = self.decimal()?;
        let value: f32 = text.parse().map_err(|_| Fault::new(at, "a decimal is expected"))?;
        Ok(if negative { -value } else { value })
    }

    /// Skips the value of an unknown field.
    fn skip_field(&mut self) -> Lex {
        let colon = self.lexer.take(b':');
        if self.lexer.take(b'[') {
            if self.lexer.take(b']') {
                return Ok(());
            }
            loop {
                self.skip_value(true)?;
                if self.lexer.take(b']') {
                    return Ok(());
                }
                self.lexer.expect(b',')?;
            }
        }
        self.skip_value(colon)
    }

    fn skip_value(&mut self, colon: bool) -> Lex {
        match self.lexer.peek() {
            byte @ (b'{' | b'<') => {
                if self.depth == 0 {
                    return Err(Fault::new(self.lexer.at(), "messages nest too deep"));
                }
                self.lexer.cursor.skip(1);
                self.depth -= 1;
                self.skip_fields(if byte == b'{' { b'}' } else { b'>' })?;
                self.depth += 1;
                Ok(())
            }
            _ if !colon => Err(self.lexer.expected("`:`")),
            b'"' | b'\'' => self.lexer.strings().map(drop),
            _ => {
                self.lexer.take(b'-');
                match self.lexer.word() {
                    Some(_) => Ok(()),
                    None => self.lexer.number().map(drop),
                }
            }
        }
    }

    fn skip_fields(&mut self, end: u8) -> Lex {
        while !self.lexer.take(end) {
            if self.lexer.take(b'[') {
                while !self.lexer.take(b']') {
                    if self.lexer.word().is_none() && !self.lexer.take(b'.') {
                        self.lexer.expect(b'/')?;
                    }
                }
            } else if self.lexer.word().is_none() {
                return Err(self.lexer.expected("the name of a field"));
            }
            self.skip_field()?;
            if !self.lexer.take(b',') {
                self.lexer.take(b';');
            }
        }
        Ok(())
    }
}
