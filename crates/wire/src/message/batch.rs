//! Many messages of one type in one memory, to be read field by field.
//!
//! Who turns messages into columns reads one field of all of them, then the next: loops that are
//! short and have nothing to decide. The layout is that of messages, but for maps, which are lists
//! of their entries here: as they came, also those with the same key.
//!
//! ```text
//!   push(bytes)*  -->  Batch: arena, records  --rows()-->  Rows
//!                                                           | numbers(f), texts(f): one per row
//!                                                           | lists(f), text_lists(f)
//!                                                           '-- inside(f), items(f) --> Rows
//! ```
//! Fields that are not of the rows' message, or not of the kind that is asked for, are read as
//! absent in all of them.

use std::borrow::Cow;
use std::ptr::NonNull;

use super::arena::Arena;
use super::build::{Builder, Copies, Frame};
use super::chance::Chance;
use super::layout::{FieldLayout, Kind, Layouts, RecordLayout, Shape};
use super::record::{List, Record, View};
use super::{AccessError, MessageName};
use crate::decode::{DecodeError, Decoder};
use crate::schema::{FieldId, MessageId, Schema};

const ROOM: &str = "without a limit there is room";

/// Messages of one type; see the module.
pub struct Batch {
    schema: Schema,
    message: MessageId,
    arena: Arena,
    records: Vec<Record>,
    /// Kept for its memory.
    frames: Vec<Frame>,
    chance: Chance,
    /// Zeros, as many as the largest header has: the record of what is absent.
    nothing: Box<[u64]>,
}

// SAFETY: a batch owns its memory.
unsafe impl Send for Batch {}
// SAFETY: through a shared batch nothing changes.
unsafe impl Sync for Batch {}

impl Batch {
    /// A batch without messages.
    ///
    /// # Errors
    /// [`AccessError::WrongMessage`]: the schema has no such message.
    pub fn new(schema: &Schema, message: impl MessageName) -> Result<Batch, AccessError> {
        let message = message.find(schema)?;
        let layouts = schema.batch_layouts();
        let largest = schema.messages().map(|of| layouts.record(of).header_bytes).max();
        Ok(Batch {
            schema: schema.clone(),
            message,
            arena: Arena::with_limit(usize::MAX),
            records: Vec::new(),
            frames: Vec::new(),
            chance: Chance::default(),
            nothing: vec![0; largest.unwrap_or(0).div_ceil(8) as usize].into(),
        })
    }

    /// Appends the message that the bytes are, by a decoder of the same schema: one by tables, or
    /// [`for_batches`](crate::Native::for_batches). Of bytes that are none nothing is appended,
    /// but for memory that comes back with [`Batch::clear`].
    ///
    /// # Errors
    /// The bytes are no such message, or the decoder is of another schema.
    #[inline]
    pub fn push(&mut self, decoder: &Decoder<'_>, bytes: &[u8]) -> Result<(), DecodeError> {
        let Batch { schema, message, arena, frames, chance, .. } = self;
        let layouts = schema.batch_layouts();
        let layout = layouts.record(*message);
        let mut record = Record::new(arena, layout).expect(ROOM);
        let mut builder = Builder::over(schema, layouts, arena, *message, record, frames, Copies);
        if !chance.fill(decoder, *message, bytes, &mut builder) {
            record = Record::new(arena, layout).expect(ROOM);
            builder = Builder::over(schema, layouts, arena, *message, record, frames, Copies);
            decoder.decode(*message, bytes, &mut builder)?;
        }
        self.records.push(record);
        Ok(())
    }

    /// How many messages there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of memory in use.
    #[inline]
    pub fn used_bytes(&self) -> usize {
        self.arena.used_bytes()
    }

    /// Takes all messages away and keeps the memory for what comes.
    pub fn clear(&mut self) {
        self.records.clear();
        self.arena.reset();
    }

    /// Gives memory back that is kept from fuller times, as [`Message::shrink`] does.
    ///
    /// [`Message::shrink`]: super::Message::shrink
    pub fn shrink(&mut self, bytes: usize) {
        self.arena.shrink(bytes);
    }

    /// All messages, in the order in which they came.
    pub fn rows(&self) -> Rows<'_> {
        let layout = self.schema.batch_layouts().record(self.message);
        Rows { batch: self, layout, records: Cow::Borrowed(&self.records) }
    }

    /// The record of a message that is not there.
    fn nothing(&self) -> Record {
        let place = NonNull::from(&*self.nothing).cast();
        // SAFETY: a record without fields is its header, which nobody writes to.
        unsafe { Record::from_address(place) }
    }
}

mod sealed {
    use super::Kind;

    /// Numbers as they lie in slots and lists.
    pub trait Sealed: Copy {
        /// Whether fields of that kind hold them.
        fn fits(kind: Kind) -> bool;
    }
}

/// Numbers that fields hold: `i64` those of `int64`, `sint64` and `sfixed64`, and so on; `i32`
/// those of enums, too.
pub trait Number: sealed::Sealed + 'static {}

macro_rules! numbers {
    ($($ty:ty: $($kind:ident)|+;)+) => {
        $(
            impl Number for $ty {}
            impl sealed::Sealed for $ty {
                #[inline]
                fn fits(kind: Kind) -> bool {
                    matches!(kind, $(Kind::$kind)|+)
                }
            }
        )+
    };
}

numbers! {
    i64: I64;
    u64: U64;
    i32: I32 | Enum;
    u32: U32;
    f64: F64;
    f32: F32;
    bool: Bool;
}

/// Messages of one type at one place of a tree, or the absence of some of them.
pub struct Rows<'b> {
    batch: &'b Batch,
    layout: &'b RecordLayout,
    /// By row; those of absent messages have no fields.
    records: Cow<'b, [Record]>,
}

/// Where a field is in the rows.
#[derive(Clone, Copy)]
struct Place {
    /// Where the word with its presence bit begins in a record, in bytes.
    word: usize,
    /// Its bit there; none if it cannot be had.
    mask: u64,
    /// Where its slot begins.
    offset: usize,
}

impl Place {
    /// Of a field that cannot be had: no bit of the word that every record has.
    const NONE: Place = Place { word: 0, mask: 0, offset: 0 };

    /// The slot of a field that is there.
    #[inline(always)]
    fn slot(self, record: Record) -> Option<NonNull<u8>> {
        let word = record.address().wrapping_add(self.word).cast::<u64>();
        // SAFETY: within the header, which is always written.
        if unsafe { word.read() } & self.mask == 0 {
            return None;
        }
        NonNull::new(record.address().wrapping_add(self.offset))
    }

    /// What the slot of a field holds that is there.
    ///
    /// # Safety
    /// The field's slot holds a `T`.
    #[inline(always)]
    unsafe fn read<T: Copy>(self, record: Record) -> Option<T> {
        let slot = self.slot(record)?;
        // SAFETY: the slot of a field whose bit is set was written, with what the caller says.
        Some(unsafe { slot.cast::<T>().read() })
    }
}

impl<'b> Rows<'b> {
    fn layouts(&self) -> &'b Layouts {
        self.batch.schema.batch_layouts()
    }

    fn field(&self, field: FieldId, shape: Shape) -> Option<&'b FieldLayout> {
        let found = self.layouts().find(field)?;
        let own = found.message == self.layout.message && !found.extension;
        (own && found.shape == shape).then_some(found)
    }

    /// Where a field is, if `fits` says that it is of the kind that is asked for.
    fn place(&self, field: FieldId, shape: Shape, fits: impl FnOnce(Kind) -> bool) -> Place {
        match self.field(field, shape) {
            Some(found) if fits(found.kind) => Place {
                word: found.presence_offset() as usize,
                mask: found.presence_mask(),
                offset: found.offset as usize,
            },
            _ => Place::NONE,
        }
    }

    fn each(&self) -> impl ExactSizeIterator<Item = Record> + use<'_> {
        self.records.iter().copied()
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// By row: whether a field is there that holds one value, or whether a value is stored where
    /// its absence does not show.
    pub fn present(&self, field: FieldId) -> impl ExactSizeIterator<Item = bool> + use<'_> {
        let place = self.place(field, Shape::Single, |_| true);
        self.each().map(move |record| place.slot(record).is_some())
    }

    /// By row: the number that a field holds.
    pub fn numbers<T: Number>(
        &self,
        field: FieldId,
    ) -> impl ExactSizeIterator<Item = Option<T>> + use<'_, T> {
        let place = self.place(field, Shape::Single, T::fits);
        // SAFETY: a slot of that kind holds such a number.
        self.each().map(move |record| unsafe { place.read(record) })
    }

    /// By row: the numbers of a repeated field.
    pub fn lists<T: Number>(
        &self,
        field: FieldId,
    ) -> impl ExactSizeIterator<Item = &[T]> + use<'_, T> {
        let place = self.place(field, Shape::List, T::fits);
        self.each().map(move |record| {
            // SAFETY: the slot of a repeated field holds a list.
            let list = unsafe { place.read::<List>(record) }.unwrap_or(List::EMPTY);
            // SAFETY: of numbers of that kind, which live as long as the batch is borrowed.
            unsafe { list.values() }
        })
    }

    /// By row: the string, or the bytes, that a field holds.
    pub fn texts(&self, field: FieldId) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        let place = self.place(field, Shape::Single, is_text);
        self.each().map(move |record| {
            // SAFETY: the slot of such a field holds a view, of bytes that live in the arena.
            unsafe { Some(place.read::<View>(record)?.bytes()) }
        })
    }

    /// By row: the strings, or the bytes, of a repeated field.
    pub fn text_lists(
        &self,
        field: FieldId,
    ) -> impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = &[u8]>> {
        let place = self.place(field, Shape::List, is_text);
        self.each().map(move |record| {
            // SAFETY: the slot of a repeated field holds a list.
            let list = unsafe { place.read::<List>(record) }.unwrap_or(List::EMPTY);
            // SAFETY: of views of bytes that live in the arena.
            unsafe { list.values::<View>().iter().map(|view| view.bytes()) }
        })
    }

    /// By row: the message that a field holds, with no fields where there is none.
    pub fn inside(&self, field: FieldId) -> Rows<'b> {
        let place = self.place(field, Shape::Single, |kind| kind == Kind::Message);
        let nothing = self.batch.nothing();
        // SAFETY: the slot of such a field holds a record.
        let record = |record| unsafe { place.read(record) }.unwrap_or(nothing);
        self.of(field, self.each().map(record).collect())
    }

    /// The messages of a repeated field, or the entries of a map, of all rows; `count` is told how
    /// many each row has.
    pub fn items(&self, field: FieldId, mut count: impl FnMut(usize)) -> Rows<'b> {
        let place = self.place(field, Shape::List, |kind| kind == Kind::Message);
        let mut records: Vec<Record> = Vec::new();
        for record in self.each() {
            // SAFETY: the slot of a repeated field holds a list.
            let list = unsafe { place.read::<List>(record) }.unwrap_or(List::EMPTY);
            // SAFETY: of records.
            records.extend_from_slice(unsafe { list.values() });
            count(list.len as usize);
        }
        self.of(field, records)
    }

    /// Records of a field's type.
    fn of(&self, field: FieldId, records: Vec<Record>) -> Rows<'b> {
        let found = self.layouts().find(field).and_then(|found| found.record);
        let layout = found.map_or(self.layout, |of| self.layouts().record(of));
        Rows { batch: self.batch, layout, records: Cow::Owned(records) }
    }
}

fn is_text(kind: Kind) -> bool {
    matches!(kind, Kind::String | Kind::Bytes)
}
