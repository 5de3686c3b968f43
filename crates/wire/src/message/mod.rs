//! Messages in memory.
//!
//! A [`Message`] owns the whole tree in one [`Arena`], which is freed, or cleared and filled again,
//! as a whole. Its records have their fields at fixed offsets; the ABI is in [`layout`].
//!
//! ```text
//!   Message<'i> ----owns----> Arena: record, lists, maps, copied strings
//!      |  |                      |
//!      |  '-- as_mut() --> MessageMut, ListMut, MapMut       set, push, insert, merge
//!      '----- as_ref() --> MessageRef, ListRef, MapRef       get, has, fields, ==
//!      |                      '---- walk(sink) --> JSON, text, another message
//!      '-- builder() ----> Builder <-- decoder, parsers      `'i`: strings stay in the input
//! ```
//! A [`Batch`] has many messages of one type, to be read field by field; a [`Lazy`] is
//! a message whose sub-messages are decoded on first access.
//!
//! Fields are named by their ids or by their names ([`FieldName`]) and are [`Value`]s. Nothing here
//! panics: a mismatch is an [`AccessError`]. Missing fields are read as their defaults, and missing
//! messages as empty ones, so that paths can be followed without checks.
//!
//! Memory of values that are replaced or removed is released with the message, not before.

mod access;
pub mod arena;
pub mod batch;
mod build;
mod chance;
mod compare;
mod entry;
pub mod layout;
pub(crate) mod lazy;
pub mod map;
pub(crate) mod present;
pub(crate) mod put_off;
mod raw;
mod read;
pub mod record;
pub mod slots;
pub(crate) mod storage;
mod value;
mod walk;
mod write;

use std::fmt;
use std::marker::PhantomData;

pub use access::{AccessError, FieldName};
pub use arena::Arena;
pub use batch::Batch;
pub use build::{Builder, Copies, Keep, Views};
pub use layout::{Cell, FieldLayout, Layouts, RecordLayout, Shape, ValueType};
pub use lazy::{Check, Lazy, LazyList, LazyValue};
pub use map::MapOrder;
pub use raw::MessageAddress;
#[doc(hidden)]
pub use storage::Storage;
pub use value::{ListRef, MapRef, MessageRef, Value};
pub use write::{ListMut, MapMut, MessageMut};

use crate::decode::{DecodeError, Decoder};
use crate::encode::table::{EncodeError, Encoder};
use crate::schema::{FieldId, MessageId, Schema};
use crate::sink::{Sink, SinkResult};
use build::{Frame, Keeping};
use chance::Chance;
use record::Record;

/// A message with all its sub-messages; strings and bytes may be views of inputs that live for
/// `'i`.
pub struct Message<'i> {
    schema: Schema,
    message: MessageId,
    arena: Arena,
    root: Record,
    /// Kept for its memory.
    frames: Vec<Frame>,
    chance: Chance,
    input: PhantomData<&'i [u8]>,
}

// SAFETY: a message owns its memory, and the inputs that it views are shared.
unsafe impl Send for Message<'_> {}
// SAFETY: through a shared message nothing changes.
unsafe impl Sync for Message<'_> {}

impl<'i> Message<'i> {
    /// An empty message.
    ///
    /// # Errors
    /// [`AccessError::WrongMessage`]: the schema has no such message.
    pub fn new(schema: &Schema, message: impl MessageName) -> Result<Message<'i>, AccessError> {
        Message::with_limit(schema, message, usize::MAX)
    }

    /// An empty message that never takes more than `limit_bytes` of memory.
    ///
    /// # Errors
    /// The schema has no such message, or the limit is too low for an empty one.
    pub fn with_limit(
        schema: &Schema,
        message: impl MessageName,
        limit_bytes: usize,
    ) -> Result<Message<'i>, AccessError> {
        let message = message.find(schema)?;
        let mut arena = Arena::with_limit(limit_bytes);
        let layout = schema.layouts().record(message);
        let root = Record::new(&mut arena, layout).ok_or(AccessError::Full)?;
        let schema = schema.clone();
        let (frames, chance) = (Vec::new(), Chance::default());
        Ok(Message { schema, message, arena, root, frames, chance, input: PhantomData })
    }

    /// The message that `input` is; strings and bytes stay there.
    ///
    /// # Errors
    /// The schema has no such message, or the bytes are none.
    pub fn from_bytes(
        schema: &Schema,
        message: impl MessageName,
        input: &'i [u8],
    ) -> Result<Message<'i>, MessageError> {
        let mut message = Message::new(schema, message)?;
        message.merge_from_bytes(input)?;
        Ok(message)
    }

    /// Clears the message and makes it what `input` is; strings and bytes stay there. The memory is
    /// reused, so that after a few messages nothing is allocated.
    ///
    /// # Errors
    /// The bytes are no such message, or it needs more memory than allowed
    /// ([`Stopped`](crate::ErrorKind::Stopped)); the message has the fields before the error.
    pub fn decode(&mut self, input: &'i [u8]) -> Result<(), DecodeError> {
        self.clear();
        self.merge_from_bytes(input)
    }

    /// As [`Message::decode`], by the caller's decoder: with other limits, or native.
    ///
    /// # Errors
    /// As there; a decoder of another schema is an error too.
    pub fn decode_with(
        &mut self,
        decoder: &Decoder<'_>,
        input: &'i [u8],
    ) -> Result<(), DecodeError> {
        if self.fill_whole(decoder, input, Views::default()) {
            Ok(())
        } else {
            decoder.decode(self.message, input, &mut self.builder())
        }
    }

    /// As [`Message::decode_copied`], by the caller's decoder.
    ///
    /// # Errors
    /// As there.
    pub fn decode_copied_with(
        &mut self,
        decoder: &Decoder<'_>,
        input: &[u8],
    ) -> Result<(), DecodeError> {
        if self.fill_whole(decoder, input, Copies) {
            Ok(())
        } else {
            decoder.decode(self.message, input, &mut self.copying_builder())
        }
    }

    /// Clears the message and decodes `input` into it, if generated code alone can; else returns
    /// false and leaves it empty.
    #[inline]
    fn fill_whole<K: Keeping>(&mut self, decoder: &Decoder<'_>, input: &[u8], keep: K) -> bool {
        self.clear();
        if !decoder.is_native() {
            return false;
        }
        let Message { schema, message, arena, root, frames, chance, .. } = self;
        let mut builder = Builder::new(schema, arena, *message, *root, frames, keep);
        let done = chance.take(|| decoder.fill_whole(*message, input, &mut builder));
        if !done {
            self.clear();
        }
        done
    }

    /// As [`Message::decode`], with copies of strings and bytes.
    ///
    /// # Errors
    /// As there.
    pub fn decode_copied(&mut self, input: &[u8]) -> Result<(), DecodeError> {
        self.clear();
        self.merge_from_bytes_copied(input)
    }

    /// Merges what `input` is into the message; strings and bytes stay there.
    ///
    /// # Errors
    /// As [`Message::decode`].
    pub fn merge_from_bytes(&mut self, input: &'i [u8]) -> Result<(), DecodeError> {
        let Message { schema, message, arena, root, frames, .. } = self;
        let views = Views::default();
        let mut builder = Builder::new(schema, arena, *message, *root, frames, views);
        Decoder::new(schema).decode(*message, input, &mut builder)
    }

    /// As [`Message::merge_from_bytes`], with copies of strings and bytes.
    ///
    /// # Errors
    /// As there.
    pub fn merge_from_bytes_copied(&mut self, input: &[u8]) -> Result<(), DecodeError> {
        let Message { schema, message, arena, root, frames, .. } = self;
        let mut builder = Builder::new(schema, arena, *message, *root, frames, Copies);
        Decoder::new(schema).decode(*message, input, &mut builder)
    }

    /// A sink that merges its events into the message; strings stay where they are.
    pub fn builder(&mut self) -> Builder<'_, Views<'i>> {
        let Message { schema, message, arena, root, frames, .. } = self;
        Builder::new(schema, arena, *message, *root, frames, Views::default())
    }

    /// A sink that merges its events into the message; strings are copied.
    pub fn copying_builder(&mut self) -> Builder<'_, Copies> {
        let Message { schema, message, arena, root, frames, .. } = self;
        Builder::new(schema, arena, *message, *root, frames, Copies)
    }

    /// The message, to be read.
    #[inline]
    pub fn as_ref(&self) -> MessageRef<'_> {
        MessageRef::new(&self.schema, self.message, Some(self.root))
    }

    /// The message, to be changed.
    #[inline]
    pub fn as_mut(&mut self) -> MessageMut<'_> {
        MessageMut::new(&self.schema, &mut self.arena, self.message, self.root)
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its type.
    pub fn message_type(&self) -> MessageId {
        self.message
    }

    /// As [`MessageRef::get`].
    ///
    /// # Errors
    /// [`AccessError::NoField`].
    pub fn get(&self, name: impl FieldName) -> Result<Value<'_>, AccessError> {
        self.as_ref().get(name)
    }

    /// As [`MessageRef::has`].
    ///
    /// # Errors
    /// [`AccessError::NoField`].
    pub fn has(&self, name: impl FieldName) -> Result<bool, AccessError> {
        self.as_ref().has(name)
    }

    /// As [`MessageRef::fields`].
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, Value<'_>)> {
        self.as_ref().fields()
    }

    /// As [`MessageMut::set`].
    ///
    /// # Errors
    /// As there.
    pub fn set<'v>(
        &mut self,
        name: impl FieldName,
        value: impl Into<Value<'v>>,
    ) -> Result<(), AccessError> {
        self.as_mut().set(name, value)
    }

    /// As [`MessageMut::merge`].
    ///
    /// # Errors
    /// As there.
    pub fn merge(&mut self, other: MessageRef<'_>) -> Result<(), AccessError> {
        self.as_mut().merge(other)
    }

    /// As [`MessageRef::walk`].
    ///
    /// # Errors
    /// The sink stopped the walk.
    pub fn walk<'m, S: Sink<'m>>(&'m self, sink: &mut S) -> SinkResult {
        self.as_ref().walk(sink)
    }

    /// The encoded message, by the table encoder; [`Encoder`] has options.
    ///
    /// # Errors
    /// It nests too deep, or is too large.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        Encoder::new().encode(self.as_ref())
    }

    /// Clears all fields and keeps the memory for reuse.
    pub fn clear(&mut self) {
        self.arena.reset();
        let layout = self.schema.layouts().record(self.message);
        let root = Record::new(&mut self.arena, layout);
        self.root = root.expect("the first thing in the first chunk has room there again");
    }

    /// Reuses the memory for an empty message, for inputs of another lifetime.
    pub fn recycle<'j>(mut self) -> Message<'j> {
        self.clear();
        let Message { schema, message, arena, root, frames, chance, .. } = self;
        Message { schema, message, arena, root, frames, chance, input: PhantomData }
    }

    /// Frees memory that is kept but not in use, down to `bytes`.
    pub fn shrink(&mut self, bytes: usize) {
        self.arena.shrink(bytes);
    }

    /// Bytes of memory in use for fields, without inputs that are viewed.
    pub fn used_bytes(&self) -> usize {
        self.arena.used_bytes()
    }

    /// Bytes of memory held from the system.
    pub fn held_bytes(&self) -> usize {
        self.arena.held_bytes()
    }

    /// A copy that views no input.
    pub fn to_owned(&self) -> Message<'static> {
        let mut arena = Arena::with_limit(usize::MAX);
        let layout = self.schema.layouts().record(self.message);
        let root = Record::new(&mut arena, layout).expect("without a limit there is room");
        let schema = self.schema.clone();
        let (message, frames, chance) = (self.message, Vec::new(), Chance::default());
        let mut copy = Message { schema, message, arena, root, frames, chance, input: PhantomData };
        // Of the same type and without limit: nothing can fail but memory itself.
        let _ = copy.merge(self.as_ref());
        copy
    }
}

impl Clone for Message<'_> {
    /// Strings and bytes are copied.
    fn clone(&self) -> Self {
        self.to_owned()
    }
}

impl PartialEq for Message<'_> {
    /// Compares like references: numbers by their bits, maps in any order.
    fn eq(&self, other: &Message<'_>) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// A name of a message type: its id, or its full name.
pub trait MessageName {
    /// The message that it names.
    ///
    /// # Errors
    /// The schema has none.
    fn find(self, schema: &Schema) -> Result<MessageId, AccessError>;
}

impl MessageName for MessageId {
    fn find(self, schema: &Schema) -> Result<MessageId, AccessError> {
        if self.index() < schema.messages().len() {
            Ok(self)
        } else {
            Err(no_message(format!("of another schema ({})", self.index())))
        }
    }
}

impl MessageName for &str {
    fn find(self, schema: &Schema) -> Result<MessageId, AccessError> {
        schema.message_by_name(self).ok_or_else(|| no_message(self.to_owned()))
    }
}

fn no_message(wanted: String) -> AccessError {
    AccessError::WrongMessage { wanted, given: "a schema without it".to_owned() }
}

/// Why bytes did not become a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessageError {
    /// The message could not be used.
    Access(AccessError),
    /// The bytes are no such message.
    Decode(DecodeError),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageError::Access(error) => error.fmt(f),
            MessageError::Decode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MessageError {}

impl From<AccessError> for MessageError {
    fn from(error: AccessError) -> MessageError {
        MessageError::Access(error)
    }
}

impl From<DecodeError> for MessageError {
    fn from(error: DecodeError) -> MessageError {
        MessageError::Decode(error)
    }
}
