//! Many messages of one type in one memory, to be read field by field.
//!
//! Turning messages into columns reads one field of all of them, then the next: short loops without
//! branches. The layout is that of messages, except for maps, which are lists of their entries
//! here: all in their order, also those with the same key.
//!
//! ```text
//!   push(bytes)*  -->  Batch: arena, records  --rows()-->  Rows
//!                                                           | numbers(f), texts(f): one per row
//!                                                           | lists(f), text_lists(f)
//!                                                           | append_lists(f), append_texts(f)
//!                                                           '-- inside(f), items(f) --> Rows
//! ```
//! Fields that are not of the rows' message, or not of the requested kind, are read as absent in
//! all of them.

use std::borrow::Cow;
use std::hint::select_unpredictable;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use tidemill_stdx::copy::copy;

use super::arena::{Arena, Fresh, SPARE_BYTES};
use super::build::{Builder, Copies, Frame};
use super::chance::Chance;
use super::layout::{FieldLayout, Layouts, RecordLayout, Shape, ValueType};
use super::record::{List, Record, View};
use super::{AccessError, MessageName};
use crate::decode::{DecodeError, Decoder};
use crate::schema::{FieldId, MessageId, Schema};

/// The bytes of the widest slot.
const WIDEST: u32 = 16;

const ROOM: &str = "without a limit there is room";

/// Messages of one type; see the module.
pub struct Batch {
    schema: Schema,
    message: MessageId,
    /// Of zeroed memory: slots are read before their presence is checked.
    arena: Arena,
    records: Vec<Record>,
    /// Kept for its memory.
    frames: Vec<Frame>,
    chance: Chance,
    /// Zeros, of the size of the largest record: the record of absent messages.
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
        let largest = schema.messages().map(|of| layouts.record(of).bytes).max();
        Ok(Batch {
            schema: schema.clone(),
            message,
            arena: Arena::with(usize::MAX, Fresh::Zeroed),
            records: Vec::new(),
            frames: Vec::new(),
            chance: Chance::default(),
            nothing: vec![0; largest.unwrap_or(0).max(WIDEST).div_ceil(8) as usize].into(),
        })
    }

    /// Appends the message that the bytes are, by a decoder of the same schema: one by tables, or
    /// [`for_batches`](crate::Native::for_batches). Malformed bytes append nothing, but may use
    /// memory, which [`Batch::clear`] releases.
    ///
    /// # Errors
    /// The bytes are no such message, or the decoder is of another schema.
    #[inline]
    pub fn push(&mut self, decoder: &Decoder<'_>, bytes: &[u8]) -> Result<(), DecodeError> {
        let Batch { schema, message, arena, frames, chance, .. } = self;
        let layouts = schema.batch_layouts();
        let layout = layouts.record(*message);
        let mut record = Record::new(arena, layout).expect(ROOM);
        if !chance.take(|| decoder.fill_listed(schema, *message, bytes, arena, record)) {
            record = Record::new(arena, layout).expect(ROOM);
            let mut builder =
                Builder::over(schema, layouts, arena, *message, record, frames, Copies);
            decoder.decode(*message, bytes, &mut builder)?;
        }
        self.records.push(record);
        Ok(())
    }

    /// The number of messages.
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

    /// Removes all messages and keeps the memory for later ones.
    pub fn clear(&mut self) {
        self.records.clear();
        self.arena.reset();
    }

    /// Frees memory that is kept from earlier use, as [`Message::shrink`] does.
    ///
    /// [`Message::shrink`]: super::Message::shrink
    pub fn shrink(&mut self, bytes: usize) {
        self.arena.shrink(bytes);
    }

    /// All messages, in the order of insertion.
    pub fn rows(&self) -> Rows<'_> {
        let layout = self.schema.batch_layouts().record(self.message);
        Rows { batch: self, layout, records: Cow::Borrowed(&self.records) }
    }

    /// The record of an absent message.
    fn nothing(&self) -> Record {
        let place = NonNull::from(&*self.nothing).cast();
        // SAFETY: a record without fields is its header, which is not written to.
        unsafe { Record::from_address(place) }
    }
}

mod sealed {
    use super::ValueType;

    /// Numbers in their form in slots and lists.
    pub trait Sealed: Copy {
        /// Whether fields of that kind hold them.
        fn fits(kind: ValueType) -> bool;

        /// The type as which any slot may be read, also an empty one.
        type Raw: Copy + Default;

        /// The number of a raw value.
        fn of(raw: Self::Raw) -> Self;
    }
}

/// Numbers that fields hold: `i64` those of `int64`, `sint64` and `sfixed64`, and so on; `i32`
/// those of enums, too.
pub trait Number: sealed::Sealed + 'static {}

macro_rules! numbers {
    ($($ty:ty: $($kind:ident)|+, $value:ident: $raw:ty => $number:expr;)+) => {
        $(
            impl Number for $ty {}
            impl sealed::Sealed for $ty {
                #[inline]
                fn fits(kind: ValueType) -> bool {
                    matches!(kind, $(ValueType::$kind)|+)
                }

                type Raw = $raw;

                #[inline(always)]
                fn of($value: $raw) -> $ty {
                    $number
                }
            }
        )+
    };
}

numbers! {
    i64: I64, raw: i64 => raw;
    u64: U64, raw: u64 => raw;
    i32: I32 | Enum, raw: i32 => raw;
    u32: U32, raw: u32 => raw;
    f64: F64, raw: u64 => f64::from_bits(raw);
    f32: F32, raw: u32 => f32::from_bits(raw);
    bool: Bool, raw: u8 => raw != 0;
}

/// Messages of one type at one place of a tree, or the absence of some of them.
pub struct Rows<'b> {
    batch: &'b Batch,
    layout: &'b RecordLayout,
    /// By row; those of absent messages have no fields.
    records: Cow<'b, [Record]>,
}

/// The place of a field in the rows.
#[derive(Clone, Copy)]
struct FieldSlot {
    /// The offset of the word with its presence bit in a record, in bytes.
    word: usize,
    /// Its bit there; no bit if the field is not available.
    mask: u64,
    /// The offset of its slot.
    offset: usize,
}

impl FieldSlot {
    /// For a field that is not available: no bit of the word that every record has.
    const NONE: FieldSlot = FieldSlot { word: 0, mask: 0, offset: 0 };

    /// The slot of a field, if it is present.
    #[inline(always)]
    fn slot(self, record: Record) -> Option<NonNull<u8>> {
        let word = record.address().wrapping_add(self.word).cast::<u64>();
        // SAFETY: within the header, which is always written.
        if unsafe { word.read() } & self.mask == 0 {
            return None;
        }
        NonNull::new(record.address().wrapping_add(self.offset))
    }

    /// The value in the slot of a field, if it is present.
    ///
    /// # Safety
    /// The field's slot holds a `T`.
    #[inline(always)]
    unsafe fn read<T: Copy>(self, record: Record) -> Option<T> {
        let slot = self.slot(record)?;
        // SAFETY: the slot of a field whose bit is set was written, with what the caller says.
        Some(unsafe { slot.cast::<T>().read() })
    }

    /// The same, or `absent`; without a jump, which could not be predicted.
    ///
    /// # Safety
    /// The field's slot is for a `T`, and any bits are one.
    #[inline(always)]
    unsafe fn read_or<T: Copy>(self, record: Record, absent: T) -> T {
        let address = record.address();
        // SAFETY: both are within the record, whose memory was zeroed when it was new, and of that
        // type by what the caller says.
        let (word, value) = unsafe {
            let value = address.wrapping_add(self.offset).cast::<T>().read();
            (address.wrapping_add(self.word).cast::<u64>().read(), value)
        };
        select_unpredictable(word & self.mask != 0, value, absent)
    }

    /// The list of a repeated field.
    ///
    /// # Safety
    /// The field's slot holds a list.
    #[inline(always)]
    unsafe fn list(self, record: Record) -> List {
        // SAFETY: any bits are a list, as long as its values are not read.
        unsafe { self.read_or(record, List::EMPTY) }
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

    /// The layout of a field, if `fits` accepts its kind.
    fn place(
        &self,
        field: FieldId,
        shape: Shape,
        fits: impl FnOnce(ValueType) -> bool,
    ) -> FieldSlot {
        match self.field(field, shape) {
            Some(found) if fits(found.kind) => FieldSlot {
                word: found.presence_offset() as usize,
                mask: found.presence_mask(),
                offset: found.offset as usize,
            },
            _ => FieldSlot::NONE,
        }
    }

    /// By row: the record to read a place of; for an unavailable field, one that has room for any
    /// slot.
    fn each(&self, place: FieldSlot) -> impl ExactSizeIterator<Item = Record> + use<'_> {
        let (there, nothing) = (place.mask != 0, self.batch.nothing());
        self.records.iter().map(move |&record| if there { record } else { nothing })
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// By row: whether a single field is present, or, for fields without presence, whether a value
    /// is stored.
    pub fn present(&self, field: FieldId) -> impl ExactSizeIterator<Item = bool> + use<'_> {
        let place = self.place(field, Shape::Single, |_| true);
        self.each(place).map(move |record| place.slot(record).is_some())
    }

    /// By row: the number that a field holds.
    pub fn numbers<T: Number>(
        &self,
        field: FieldId,
    ) -> impl ExactSizeIterator<Item = Option<T>> + use<'_, T> {
        let place = self.place(field, Shape::Single, T::fits);
        // SAFETY: a slot of that kind holds such a number.
        self.each(place).map(move |record| unsafe { place.read(record) })
    }

    /// By row: the number that a field holds, or zero.
    pub fn numbers_or_zero<T: Number>(
        &self,
        field: FieldId,
    ) -> impl ExactSizeIterator<Item = T> + use<'_, T> {
        let place = self.place(field, Shape::Single, T::fits);
        self.each(place).map(move |record| {
            // SAFETY: a slot of that kind is for such a number.
            T::of(unsafe { place.read_or(record, T::Raw::default()) })
        })
    }

    /// By row: the numbers of a repeated field.
    pub fn lists<T: Number>(
        &self,
        field: FieldId,
    ) -> impl ExactSizeIterator<Item = &[T]> + use<'_, T> {
        let place = self.place(field, Shape::List, T::fits);
        self.each(place).map(move |record| {
            // SAFETY: the slot of a repeated field holds a list.
            let list = unsafe { place.list(record) };
            // SAFETY: of numbers of that kind, which live as long as the batch is borrowed.
            unsafe { list.values() }
        })
    }

    /// By row: the string, or the bytes, that a field holds.
    pub fn texts(&self, field: FieldId) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        let place = self.place(field, Shape::Single, is_text);
        self.each(place).map(move |record| {
            // SAFETY: the slot of such a field holds a view, of bytes that live in the arena.
            unsafe { Some(place.read::<View>(record)?.bytes()) }
        })
    }

    /// Appends the strings, or the bytes, that a field holds, and by row where they end.
    ///
    /// Ends beyond 2^31 wrap, which the caller can detect.
    pub fn append_texts(&self, field: FieldId, data: &mut Vec<u8>, ends: &mut Vec<i32>) {
        let place = self.place(field, Shape::Single, is_text);
        let mut data = Tail::of(data);
        ends.extend(self.each(place).map(|record| {
            // SAFETY: the slot of such a field is for a view, and any bits are one.
            let view = unsafe { place.read_or(record, View::EMPTY) };
            // SAFETY: of bytes that live in the arena.
            unsafe { data.append(view.start, view.len as usize) };
            data.len() as i32
        }));
    }

    /// Appends the numbers of a repeated field, and by row where they begin.
    ///
    /// Beginnings beyond 2^31 wrap, which the caller can detect.
    pub fn append_lists<T: Number>(
        &self,
        field: FieldId,
        values: &mut Vec<T>,
        starts: &mut Vec<i32>,
    ) {
        let place = self.place(field, Shape::List, T::fits);
        let mut values = Tail::of(values);
        starts.extend(self.each(place).map(|record| {
            let start = values.len() as i32;
            // SAFETY: the slot of a repeated field holds a list.
            let list = unsafe { place.list(record) };
            // SAFETY: of numbers of that kind, which live in the arena.
            unsafe { values.append(list.start.cast::<T>(), list.len as usize) };
            start
        }));
    }

    /// By row: the strings, or the bytes, of a repeated field.
    pub fn text_lists(
        &self,
        field: FieldId,
    ) -> impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = &[u8]>> {
        let place = self.place(field, Shape::List, is_text);
        self.each(place).map(move |record| {
            // SAFETY: the slot of a repeated field holds a list.
            let list = unsafe { place.list(record) };
            // SAFETY: of views of bytes that live in the arena.
            unsafe { list.values::<View>().iter().map(|view| view.bytes()) }
        })
    }

    /// By row: the message that a field holds, with no fields where there is none.
    pub fn inside(&self, field: FieldId) -> Rows<'b> {
        let place = self.place(field, Shape::Single, |kind| kind == ValueType::Message);
        let nothing = self.batch.nothing();
        // SAFETY: the slot of such a field holds the address of a record.
        let address = |record| unsafe { place.read_or(record, nothing.address()) };
        let record = |record| {
            // SAFETY: of a record of the field's type, or of one that has no fields.
            NonNull::new(address(record)).map_or(nothing, |at| unsafe { Record::from_address(at) })
        };
        self.of(field, self.each(place).map(record).collect())
    }

    /// The messages of a repeated field, or the entries of a map, of all rows; `count` is called
    /// with the number of them in each row.
    pub fn items(&self, field: FieldId, mut count: impl FnMut(usize)) -> Rows<'b> {
        let place = self.place(field, Shape::List, |kind| kind == ValueType::Message);
        let mut records: Vec<Record> = Vec::new();
        for record in self.each(place) {
            // SAFETY: the slot of a repeated field holds a list.
            let list = unsafe { place.list(record) };
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

/// Appends to a vector, whose length is set when this is dropped.
struct Tail<'v, T> {
    to: &'v mut Vec<T>,
    len: usize,
}

impl<T: Copy> Tail<'_, T> {
    /// Values that are copied together, as most runs are short: so the copy has no branch on their
    /// length.
    const PIECE: usize = SPARE_BYTES / size_of::<T>();

    fn of(to: &mut Vec<T>) -> Tail<'_, T> {
        let len = to.len();
        Tail { to, len }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    /// Appends values of an arena.
    ///
    /// # Safety
    /// `count` values are readable, followed by the spare bytes of an arena.
    #[inline(always)]
    unsafe fn append(&mut self, from: *const T, count: usize) {
        if self.to.capacity() - self.len < count + Self::PIECE {
            self.grow(count + Self::PIECE);
        }
        // An empty list may have no address to read from.
        let nothing = const { &[0u64; SPARE_BYTES / 8] };
        let from = select_unpredictable(count == 0, nothing.as_ptr().cast::<T>(), from);
        let to = self.to.as_mut_ptr().wrapping_add(self.len);
        if count <= Self::PIECE {
            // SAFETY: the vector has room for a piece more than that, and from a place in an arena
            // a piece can be read. Excess values are overwritten or beyond the length.
            unsafe { to.cast::<Piece>().write_unaligned(from.cast::<Piece>().read_unaligned()) };
        } else {
            // SAFETY: the caller guarantees `count` values to read, and the vector has room.
            unsafe { copy(to.cast(), from.cast(), count * size_of::<T>()) };
        }
        self.len += count;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        // SAFETY: `len` values were appended.
        unsafe { self.to.set_len(self.len) };
        self.to.reserve(more);
    }
}

/// Bytes that are copied without interpretation.
type Piece = [MaybeUninit<u64>; SPARE_BYTES / 8];

impl<T> Drop for Tail<'_, T> {
    fn drop(&mut self) {
        // SAFETY: `len` values were appended.
        unsafe { self.to.set_len(self.len) };
    }
}

fn is_text(kind: ValueType) -> bool {
    matches!(kind, ValueType::String | ValueType::Bytes)
}
