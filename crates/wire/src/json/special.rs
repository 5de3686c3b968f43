//! Reading well-known messages with a special form in JSON.

use super::any;
use super::check::Loosely;
use super::error::Fault;
use super::lex::{Lex, Lexer};
use super::names::MessageForm;
use super::options::Unknown;
use super::read::{Context, MessageReader};
use super::time;
use crate::encode::BinarySink;
use crate::schema::{FieldId, MessageId};
use crate::sink::Sink;

impl<'a, S: Sink<'a>> MessageReader<'_, 'a, S> {
    /// The value of a message that is no object of fields; its beginning has been reported.
    pub(super) fn special(&mut self, message: MessageId, shape: MessageForm) -> Lex {
        match shape {
            MessageForm::Plain | MessageForm::Entry => self.object(message, Context::Plain),
            MessageForm::Any => self.any(message),
            MessageForm::Timestamp => self.time(message, time::read_timestamp),
            MessageForm::Duration => self.time(message, time::read_duration),
            MessageForm::FieldMask => self.field_mask(message),
            MessageForm::Struct => self.members(message),
            MessageForm::Value => self.any_value(message),
            MessageForm::ListValue => self.elements(message),
            MessageForm::Wrapper => {
                let field = self.known_field(message, 1)?;
                self.value(field, self.mapping.field(field).kind)
            }
        }
    }

    /// A field that the form of the message promises.
    fn known_field(&self, message: MessageId, number: u32) -> Lex<FieldId> {
        let field = self.mapping.schema.field_by_number(message, number);
        field.ok_or_else(|| self.fault(format!("field {number} is missing")))
    }

    fn time(&mut self, message: MessageId, read: fn(&str) -> Option<(i64, i32)>) -> Lex {
        let (seconds, nanos) = (self.known_field(message, 1)?, self.known_field(message, 2)?);
        self.lexer.peek();
        let at = self.lexer.at;
        let text = self.lexer.string()?;
        let Some(value) = read(text) else {
            let name = self.mapping.schema.full_name(message);
            return Err(Fault::new(at, format!("`{text}` is no {name}")));
        };
        let flow = self.sink.i64(seconds, value.0);
        self.proceed(flow)?;
        let flow = self.sink.i32(nanos, value.1);
        self.proceed(flow)
    }

    fn field_mask(&mut self, message: MessageId) -> Lex {
        let field = self.known_field(message, 1)?;
        self.lexer.peek();
        let at = self.lexer.at;
        let text = self.lexer.string()?;
        for path in text.split(',').filter(|_| !text.is_empty()) {
            let mut own = Vec::with_capacity(path.len() + 8);
            let read = time::read_path(&mut own, path);
            read.ok_or_else(|| Fault::new(at, format!("`{path}` is no path of a FieldMask")))?;
            let own = String::from_utf8_lossy(&own);
            let own = self.lexer.arena.alloc_str(&own);
            self.emit_string(field, own)?;
        }
        Ok(())
    }

    /// The object of a `Struct`.
    fn members(&mut self, message: MessageId) -> Lex {
        let field = self.known_field(message, 1)?;
        self.map(field, self.mapping.field(field).kind)
    }

    /// The array of a `ListValue`.
    fn elements(&mut self, message: MessageId) -> Lex {
        let field = self.known_field(message, 1)?;
        self.list(field, self.mapping.field(field).kind)
    }

    /// A `Value`.
    fn any_value(&mut self, message: MessageId) -> Lex {
        let first = self.lexer.peek();
        let number = match first {
            b'n' => 1,
            b'"' => 3,
            b't' | b'f' => 4,
            b'{' => 5,
            b'[' => 6,
            _ => 2,
        };
        let field = self.known_field(message, number)?;
        self.value(field, self.mapping.field(field).kind)
    }

    fn any(&mut self, message: MessageId) -> Lex {
        let (url_field, value_field) =
            (self.known_field(message, 1)?, self.known_field(message, 2)?);
        self.lexer.peek();
        let start = self.lexer.at;
        let Some(type_url) = self.find_type()? else { return Ok(()) };
        let Some(inner) = any::message_of(self.mapping.schema, type_url) else {
            let message = format!("there is no message of type `{type_url}`");
            return Err(Fault::new(start, message));
        };
        let mut sink = BinarySink::new(self.mapping.schema);
        let mut lexer = Lexer::new(self.lexer.text, self.lexer.arena);
        lexer.at = start;
        let mut reader = MessageReader::new(self.mapping, lexer, self.options, &mut sink);
        reader.depth = self.depth;
        reader.inside_any(inner)?;
        let bytes = self.lexer.arena.alloc_bytes(sink.bytes());
        self.emit_string(url_field, type_url)?;
        self.emit_bytes(value_field, bytes)
    }

    /// The type among the keys of the next object; skips the object.
    fn find_type(&mut self) -> Lex<Option<&'a str>> {
        self.enter(b'{')?;
        let start = self.lexer.at;
        let (mut found, mut others) = (None, false);
        if !self.lexer.take(b'}') {
            loop {
                self.lexer.peek();
                let at = self.lexer.at;
                let key = self.lexer.string()?;
                self.lexer.expect(b':')?;
                if key != "@type" {
                    others = true;
                    self.lexer.skip(self.depth, Loosely)?;
                } else if found.replace(self.lexer.string()?).is_some() {
                    return Err(Fault::new(at, "`@type` is there twice"));
                }
                if !self.lexer.more(b'}')? {
                    break;
                }
            }
        }
        self.depth += 1;
        match found {
            None if others && self.options.unknown == Unknown::Refuse => {
                Err(Fault::new(start, "an Any needs its `@type`"))
            }
            None => Ok(None),
            Some(type_url) => Ok(Some(type_url)),
        }
    }

    /// The object of an `Any` as the message that is in it.
    fn inside_any(&mut self, message: MessageId) -> Lex {
        let flow = self.sink.start_message(message);
        self.proceed(flow)?;
        let shape = self.mapping.message(message).shape;
        if shape.is_special() {
            self.value_in_any(message, shape)?
        } else {
            self.object(message, Context::InAny)?
        }
        let flow = self.sink.end_message(message);
        self.proceed(flow)
    }

    /// The `value` of an `Any` whose message has a form of its own.
    fn value_in_any(&mut self, message: MessageId, shape: MessageForm) -> Lex {
        self.enter(b'{')?;
        let mut found = false;
        loop {
            self.lexer.peek();
            let at = self.lexer.at;
            let key = self.lexer.string()?;
            self.lexer.expect(b':')?;
            match key {
                "value" if found => return Err(Fault::new(at, "`value` is there twice")),
                "value" => {
                    found = true;
                    let null = self.lexer.peek() == b'n' && shape != MessageForm::Value;
                    if null { self.lexer.literal("null")? } else { self.special(message, shape)? }
                }
                "@type" => self.lexer.skip(self.depth, Loosely)?,
                _ if self.options.unknown == Unknown::Ignore => {
                    self.lexer.skip(self.depth, Loosely)?
                }
                _ => return Err(Fault::new(at, format!("an Any has no `{key}` here"))),
            }
            if !self.lexer.more(b'}')? {
                break;
            }
        }
        self.depth += 1;
        Ok(())
    }
}
