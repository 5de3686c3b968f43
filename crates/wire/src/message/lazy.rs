//! Messages whose sub-messages are decoded on first access.
//!
//! ```text
//!   input   | tag own | tag length  a  | tag length  b  | tag length  c  |
//!               |              '---. .---'                       |
//!   Lazy        own: a Message   inner: a Lazy, once accessed    views until then
//! ```
//! A [`Lazy`] decodes its own fields and notes the ranges of its sub-messages: a gateway that reads
//! an envelope does not pay for decoding the letter. It is not changed and is none of the records
//! of a [`Message`]; [`Lazy::to_message`] makes one.
//!
//! *Put off* are the single and repeated fields of messages under a length. Groups, whose end has
//! to be searched, the entries of maps, message sets, and oneofs that have other members than such
//! messages are decoded immediately. A sub-message in several parts is decoded from all of them,
//! which merges them; in a oneof the last member counts, as everywhere.
//!
//! ```
//! # use tidemill_wire::proto::{Texts, compile};
//! use tidemill_wire::message::{Check, Lazy, LazyValue};
//!
//! # let text = "syntax = \"proto3\"; message Envelope { string to = 1; Letter letter = 2; }
//! #     message Letter { string text = 1; }";
//! # let schema = compile(&["a.proto"], &Texts::from_iter([("a.proto", text)])).schema.unwrap();
//! let bytes = b"\x0a\x03Ada\x12\x04\x0a\x02hi";
//! let envelope = Lazy::from_bytes(&schema, "Envelope", bytes, Check::WhenRead)?;
//! assert_eq!(envelope.own().get("to")?.as_str(), Some("Ada"));
//! assert_eq!(envelope.raw("letter")?, [b"\x0a\x02hi"]);
//! if let LazyValue::Message(letter) = envelope.get("letter")? {
//!     assert_eq!(letter.own().get("text")?.as_str(), Some("hi"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! Errors in a sub-message are reported when it is accessed ([`Check::WhenRead`]), with their place
//! in the whole input, or when the whole is decoded ([`Check::Now`]).

use std::ops::Range;
use std::sync::OnceLock;

use tidemill_stdx::hash::Map;

use super::access;
use super::value::Value;
use super::{AccessError, FieldName, Message, MessageError, MessageName};
use crate::decode::{DecodeError, Decoder, ErrorKind, Tables};
use crate::schema::{FieldId, Label, MessageId, RawFields, RawValue, Schema};

/// When a sub-message that is put off is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// With the whole: accessing it fails only for lack of memory.
    Now,
    /// On first access.
    WhenRead,
}

/// See the module.
#[derive(Debug)]
pub struct Lazy<'i> {
    own: Message<'i>,
    /// The outermost bytes, to which places refer.
    input: &'i [u8],
    /// The parts of `input` that make up the message.
    parts: Vec<Range<usize>>,
    /// Sub-messages that are put off: by field, those of a list in their order.
    inner: Vec<Inner<'i>>,
    /// The maximal nesting of messages in it.
    depth_max: usize,
    bytes_max: usize,
}

/// A sub-message that is put off.
#[derive(Debug)]
struct Inner<'i> {
    field: FieldId,
    /// More than one if they are to be merged.
    parts: Vec<Range<usize>>,
    /// The place of its first tag.
    tag_start: usize,
    read: OnceLock<Result<Box<Lazy<'i>>, DecodeError>>,
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub enum LazyValue<'l, 'i> {
    /// It was not put off, or is absent.
    Value(Value<'l>),
    /// A sub-message.
    Message(&'l Lazy<'i>),
    /// Sub-messages, still to be read.
    List(LazyList<'l, 'i>),
}

/// The sub-messages of a repeated field.
#[derive(Clone, Copy, Debug)]
pub struct LazyList<'l, 'i> {
    outer: &'l Lazy<'i>,
    inner: &'l [Inner<'i>],
}

impl<'i> Lazy<'i> {
    /// The message that `input` is.
    ///
    /// # Errors
    /// The schema has no such message, or the bytes are none, as far as they are checked.
    pub fn from_bytes(
        schema: &Schema,
        message: impl MessageName,
        input: &'i [u8],
        check: Check,
    ) -> Result<Lazy<'i>, MessageError> {
        let message = message.find(schema)?;
        Ok(Lazy::decode(&Decoder::new(schema), message, input, check)?)
    }

    /// The same, within the limits of a decoder, which also checks: a native one is faster.
    ///
    /// # Errors
    /// The bytes are no such message, as far as they are checked.
    ///
    /// # Panics
    /// If the decoder's tables are a selection for another message.
    pub fn decode(
        decoder: &Decoder<'_>,
        message: MessageId,
        input: &'i [u8],
        check: Check,
    ) -> Result<Lazy<'i>, DecodeError> {
        if check == Check::Now || input.len() > decoder.limits().1 {
            decoder.check(message, input)?;
        }
        let whole = Range { start: 0, end: input.len() };
        Lazy::read(decoder.schema(), message, input, vec![whole], decoder.limits())
    }

    fn read(
        schema: &Schema,
        message: MessageId,
        input: &'i [u8],
        parts: Vec<Range<usize>>,
        (depth_max, bytes_max): (usize, usize),
    ) -> Result<Lazy<'i>, DecodeError> {
        let tables = schema.shallow();
        let decoder = Decoder::with(schema, tables).depth_max(depth_max).bytes_max(bytes_max);
        let mut own = Message::new(schema, message).map_err(|_| stopped())?;
        let mut found = Found { schema, inner: Vec::new(), single: Map::default() };
        for part in &parts {
            let bytes = &input[part.clone()];
            let done = decoder.decode(message, bytes, &mut own.builder());
            done.map_err(|error| moved(error, part.start))?;
            found.look(tables, message, input, part)?;
        }
        let mut inner = found.inner;
        inner.retain(|inner| !inner.parts.is_empty());
        inner.sort_by_key(|inner| inner.field);
        Ok(Lazy { own, input, parts, inner, depth_max, bytes_max })
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        self.own.schema()
    }

    /// Its type.
    pub fn message_type(&self) -> MessageId {
        self.own.message_type()
    }

    /// The message without the sub-messages that are put off.
    pub fn own(&self) -> &Message<'i> {
        &self.own
    }

    /// The value of a field; what is missing is its default. A sub-message is decoded on first
    /// access.
    ///
    /// # Errors
    /// There is no such field, or the bytes of the sub-message are none.
    pub fn get(&self, name: impl FieldName) -> Result<LazyValue<'_, 'i>, MessageError> {
        let field = self.id(name)?;
        Ok(match self.inner(field) {
            [] => LazyValue::Value(self.own.get(field)?),
            inner if self.schema().field(field).label() == Label::Repeated => {
                LazyValue::List(LazyList { outer: self, inner })
            }
            [inner, ..] => LazyValue::Message(self.read_inner(inner, None)?),
        })
    }

    /// Whether a field is present, as [`MessageRef::has`](super::MessageRef::has); nothing is
    /// decoded.
    ///
    /// # Errors
    /// There is no such field.
    pub fn has(&self, name: impl FieldName) -> Result<bool, AccessError> {
        let field = self.id(name)?;
        Ok(!self.inner(field).is_empty() || self.own.has(field)?)
    }

    /// The bytes of the sub-messages of a field that are put off, read or not; those of a single
    /// field are to be merged.
    ///
    /// # Errors
    /// There is no such field.
    pub fn raw(&self, name: impl FieldName) -> Result<Vec<&'i [u8]>, AccessError> {
        let inner = self.inner(self.id(name)?);
        let parts = inner.iter().flat_map(|inner| &inner.parts);
        Ok(parts.map(|part| &self.input[part.clone()]).collect())
    }

    /// The whole message, with all sub-messages.
    ///
    /// # Errors
    /// The bytes are no such message.
    pub fn to_message(&self) -> Result<Message<'i>, DecodeError> {
        let schema = self.schema();
        let decoder = Decoder::new(schema).depth_max(self.depth_max).bytes_max(self.bytes_max);
        let of = self.message_type();
        let mut message = Message::new(schema, of).map_err(|_| stopped())?;
        for part in &self.parts {
            let bytes = &self.input[part.clone()];
            let done = decoder.decode(of, bytes, &mut message.builder());
            done.map_err(|error| moved(error, part.start))?;
        }
        Ok(message)
    }

    fn id(&self, name: impl FieldName) -> Result<FieldId, AccessError> {
        access::field(self.schema(), self.message_type(), name).map(|(id, _)| id)
    }

    fn inner(&self, field: FieldId) -> &[Inner<'i>] {
        let from = self.inner.partition_point(|inner| inner.field < field);
        let to = self.inner.partition_point(|inner| inner.field <= field);
        &self.inner[from..to]
    }

    fn read_inner<'l>(
        &'l self,
        inner: &'l Inner<'i>,
        index: Option<usize>,
    ) -> Result<&'l Lazy<'i>, DecodeError> {
        let read = inner.read.get_or_init(|| {
            let schema = self.schema();
            let def = schema.field(inner.field);
            let place = |mut error: DecodeError| {
                let mut path = match def.extension_name() {
                    Some(name) => format!("[{name}]"),
                    None => def.name().to_owned(),
                };
                if let Some(index) = index {
                    path.push_str(&format!("[{index}]"));
                }
                if !error.path.is_empty() {
                    path.push('.');
                    path.push_str(&error.path);
                }
                error.path = path;
                error
            };
            let (Some(of), Some(depth_max)) =
                (def.field_type().message(), self.depth_max.checked_sub(1))
            else {
                let (kind, offset) = (ErrorKind::TooDeep, inner.tag_start);
                return Err(place(DecodeError { kind, offset, path: String::new() }));
            };
            let limits = (depth_max, self.bytes_max);
            let lazy = Lazy::read(schema, of, self.input, inner.parts.clone(), limits);
            lazy.map(Box::new).map_err(place)
        });
        match read {
            Ok(lazy) => Ok(lazy),
            Err(error) => Err(error.clone()),
        }
    }
}

impl<'l, 'i> LazyList<'l, 'i> {
    /// The number of sub-messages.
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The sub-message at an index, decoded on first access; `None` after the last.
    ///
    /// # Errors
    /// Its bytes are no such message.
    pub fn get(&self, index: usize) -> Result<Option<&'l Lazy<'i>>, DecodeError> {
        let Some(inner) = self.inner.get(index) else { return Ok(None) };
        self.outer.read_inner(inner, Some(index)).map(Some)
    }

    /// The sub-messages one after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<&'l Lazy<'i>, DecodeError>> {
        let LazyList { outer, inner } = *self;
        inner.iter().enumerate().map(|(index, inner)| outer.read_inner(inner, Some(index)))
    }
}

/// Collects the sub-messages that are put off.
struct Found<'s, 'i> {
    schema: &'s Schema,
    /// Those replaced by another member of their oneof have no parts.
    inner: Vec<Inner<'i>>,
    /// By single field: its index in `inner`.
    single: Map<FieldId, usize>,
}

impl Found<'_, '_> {
    /// Scans a part of the input whose own fields were decoded without error.
    fn look(
        &mut self,
        tables: &Tables,
        message: MessageId,
        input: &[u8],
        part: &Range<usize>,
    ) -> Result<(), DecodeError> {
        let Some(root) = tables.root(message) else { return Ok(()) };
        let node = tables.node(root);
        let mut fields = RawFields::new(&input[part.clone()]);
        loop {
            let tag_start = part.end - fields.rest().len();
            let Some(field) = fields.next() else { return Ok(()) };
            // The decoder has checked that they are fields; only groups may be too deep here.
            let Ok((number, value)) = field else {
                let kind = ErrorKind::TooDeep;
                return Err(DecodeError { kind, offset: tag_start, path: String::new() });
            };
            let RawValue::Length(bytes) = value else { continue };
            let entry = tables.entries().get(tables.find(node, number) as usize);
            let Some(entry) = entry.filter(|entry| entry.is_skipped()) else { continue };
            let end = part.end - fields.rest().len();
            self.add(entry.field, tag_start, end - bytes.len()..end);
        }
    }

    fn add(&mut self, field: FieldId, tag_start: usize, part: Range<usize>) {
        let def = self.schema.field(field);
        if def.label() != Label::Repeated {
            if let Some(&at) = self.single.get(&field) {
                self.inner[at].parts.push(part);
                return;
            }
            self.single.insert(field, self.inner.len());
            for other in def.oneof().into_iter().flat_map(|id| self.schema.oneof(id).fields()) {
                if *other != field
                    && let Some(at) = self.single.remove(other)
                {
                    self.inner[at].parts.clear();
                }
            }
        }
        self.inner.push(Inner { field, parts: vec![part], tag_start, read: OnceLock::new() });
    }
}

/// An error of a part that begins at `start`.
fn moved(error: DecodeError, start: usize) -> DecodeError {
    DecodeError { offset: error.offset + start, ..error }
}

/// The error that memory ran out.
fn stopped() -> DecodeError {
    DecodeError { kind: ErrorKind::Stopped, offset: 0, path: String::new() }
}
