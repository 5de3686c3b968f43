//! The layout of messages in memory: the ABI between messages and code that stores into them.
//!
//! A message is a *record* in the memory of its tree ([`Arena`](super::Arena)), at a multiple of 8:
//!
//! ```text
//!   0   extra      address of an `Extra`, or 0          \ zeroed when the record is made:
//!   8   presence   one u64 for each 64 fields begun,    | `header_bytes`
//!                  at least one                         /
//!   ..  slots      those of 16 bytes, of 8, of 4, of 1  - NOT zeroed
//! ```
//! **Each field has one presence bit, whatever its label**: bit `field.bit & 63` of word
//! `field.bit >> 6`, where `bit` is the field's place in its message by number. *A slot whose bit
//! is clear holds garbage*: it is not read, and the slot is written before the bit is set. So a new
//! record costs the zeroing of its header only, and walking the set bits upwards gives the fields
//! ascending by number.
//!
//! | bit is set for | means |
//! |---|---|
//! | `Optional`, `Required`, members of oneofs | the field is present |
//! | `Implicit` | a value is stored; it counts as there if it is not zero or empty |
//! | `Repeated` | the list header is valid; it may have no elements |
//! | map | the address of the `Map` is valid; it may have no entries |
//!
//! **Oneofs** have no case word: the bits of the members are the case. Members share one slot, as
//! large as the largest. To store one, clear the bits of the others ([`RecordLayout::siblings`])
//! and set its own. To merge into the member message that is set, its own bit says so.
//!
//! | slot | bytes | holds |
//! |---|---|---|
//! | [`Cell::Bool`] | 1 | 0 or 1 |
//! | [`Cell::Word32`] | 4 | `i32`, `u32`, `f32`, the number of an enum |
//! | [`Cell::Word64`] | 8 | `i64`, `u64`, `f64` |
//! | [`Cell::View`] | 16 | a [`View`]: address, `u32` length; strings are UTF-8 |
//! | [`Cell::Record`] | 8 | address of a record of type [`FieldLayout::record`], never 0 |
//! | [`Shape::List`] of a cell | 16 | a [`List`]: address, `u32` length, `u32` capacity |
//! | [`Shape::Map`] | 8 | address of a [`Map`](super::map::Map), never 0 |
//!
//! Lists hold their cells one after the other (records by address). A list is full if length and
//! capacity are equal: then [`Arena`](super::Arena) gives it more. A map is a list of addresses of
//! entry records (the layout of the entry message, key and value always stored, keys different),
//! with an index from keys once it is large; entries go in through
//! [`Map::insert`](super::map::Map::insert). A lazy sub-message does not exist in a record (it is
//! in a [`Lazy`](super::Lazy)): addresses of records are always addresses of records.
//!
//! Views point into the input, which then outlives the message, or into the arena: nothing
//! distinguishes them. That addresses are 64 bits wide is decided only here: records, views and
//! lists name them through the types of [`super::slots`].
//!
//! **Extensions and unknown fields** are in the [`Extra`](super::slots::Extra), which most records
//! do not have: a list of [`Extension`](super::slots::Extension)s ascending by number, each with a
//! slot of its own of 16 bytes that holds what a field's slot would, and a list of views of unknown
//! fields, tag and value, in the order in which they came. Extensions have no bit: one that is in
//! the list is present.

use std::ptr::NonNull;
use tidemill_stdx::sort;

use super::slots::{Address, List, Slot, View};
use crate::packed::Numbers;
use crate::schema::{Definitions, FieldId, FieldType, Label, MessageId, Scalar};

/// The offset of the presence words of a record, in bytes.
pub const PRESENCE_OFFSET: u32 = 8;

/// The storage of one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// A byte, 0 or 1.
    Bool,
    /// Four bytes.
    Word32,
    /// Eight bytes.
    Word64,
    /// A [`View`].
    View,
    /// The address of a record.
    Record,
}

impl Cell {
    /// The cell of values of this type.
    pub fn of(ty: FieldType) -> Cell {
        match ty {
            FieldType::Message(_) | FieldType::Group(_) => Cell::Record,
            FieldType::Enum(_) => Cell::Word32,
            FieldType::Scalar(scalar) => match scalar {
                Scalar::Bool => Cell::Bool,
                Scalar::String | Scalar::Bytes => Cell::View,
                Scalar::Double
                | Scalar::Int64
                | Scalar::Uint64
                | Scalar::Fixed64
                | Scalar::Sfixed64
                | Scalar::Sint64 => Cell::Word64,
                Scalar::Float
                | Scalar::Int32
                | Scalar::Fixed32
                | Scalar::Uint32
                | Scalar::Sfixed32
                | Scalar::Sint32 => Cell::Word32,
            },
        }
    }

    /// Its size in bytes, in slots and in lists; a multiple of its alignment.
    #[inline]
    pub const fn bytes(self) -> u32 {
        match self {
            Cell::Bool => 1,
            Cell::Word32 => 4,
            Cell::Word64 => 8,
            Cell::View => size_of::<View>() as u32,
            Cell::Record => size_of::<Address>() as u32,
        }
    }
}

/// A place in a list; `index` is less than its length.
#[inline]
pub(crate) fn cell_at(cell: Cell, list: &List, index: usize) -> Slot {
    debug_assert!(index < list.len as usize);
    let place = list.start.wrapping_add(index * cell.bytes() as usize);
    NonNull::new(place).expect("a list that is not empty is somewhere")
}

/// The type of the values of a field for readers and writers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueType {
    /// `double`.
    F64,
    /// `float`.
    F32,
    /// `int64`, `sint64`, `sfixed64`.
    I64,
    /// `uint64`, `fixed64`.
    U64,
    /// `int32`, `sint32`, `sfixed32`.
    I32,
    /// `uint32`, `fixed32`.
    U32,
    /// `bool`.
    Bool,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// The number of an enum.
    Enum,
    /// A message.
    Message,
}

impl ValueType {
    /// The kind of values of this type.
    pub fn of(ty: FieldType) -> ValueType {
        match ty {
            FieldType::Message(_) | FieldType::Group(_) => ValueType::Message,
            FieldType::Enum(_) => ValueType::Enum,
            FieldType::Scalar(scalar) => match scalar {
                Scalar::Double => ValueType::F64,
                Scalar::Float => ValueType::F32,
                Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => ValueType::I64,
                Scalar::Uint64 | Scalar::Fixed64 => ValueType::U64,
                Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => ValueType::I32,
                Scalar::Uint32 | Scalar::Fixed32 => ValueType::U32,
                Scalar::Bool => ValueType::Bool,
                Scalar::String => ValueType::String,
                Scalar::Bytes => ValueType::Bytes,
            },
        }
    }

    /// Its name in messages to users.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::F64 => "double",
            ValueType::F32 => "float",
            ValueType::I64 => "64-bit integer",
            ValueType::U64 => "unsigned 64-bit integer",
            ValueType::I32 => "32-bit integer",
            ValueType::U32 => "unsigned 32-bit integer",
            ValueType::Bool => "bool",
            ValueType::String => "string",
            ValueType::Bytes => "bytes",
            ValueType::Enum => "enum",
            ValueType::Message => "message",
        }
    }
}

/// The number of values of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One, in the slot.
    Single,
    /// Many, in a [`List`].
    List,
    /// Entries, in a [`Map`](super::map::Map).
    Map,
}

/// The layout of one field, or of an extension.
#[derive(Clone, Copy, Debug)]
pub struct FieldLayout {
    /// The message that it is a field of, or that it extends.
    pub message: MessageId,
    /// Its number.
    pub number: u32,
    /// The offset of its slot in the record, in bytes; 0 for extensions, which have none there.
    pub offset: u32,
    /// Its presence bit; 0 for extensions, which have none.
    pub bit: u32,
    /// The kind of its values.
    pub ty: FieldType,
    /// Its label: how often it may occur, and whether it has presence.
    pub label: Label,
    /// The number of values.
    pub shape: Shape,
    /// The cell of each value; of a map that of the entry.
    pub cell: Cell,
    /// The kind of each value; of a map that of the entry.
    pub kind: ValueType,
    /// Its bytes are known to be UTF-8: a string of a file that checks them.
    pub utf8: bool,
    /// Numbers that its enum does not have are unknown fields.
    pub closed: bool,
    /// The type of its records: its message, or the entry of the map.
    pub record: Option<MessageId>,
    /// The reading of its numbers from packed lists; those of a closed enum are looked up as well.
    pub(crate) numbers: Option<Numbers>,
    /// Which oneof of the message it is a member of, for [`RecordLayout::siblings`].
    pub oneof: Option<u32>,
    /// It is an extension.
    pub extension: bool,
}

impl FieldLayout {
    /// Bytes that its slot takes.
    pub fn slot_bytes(&self) -> u32 {
        match self.shape {
            Shape::Single => self.cell.bytes(),
            Shape::List => size_of::<List>() as u32,
            Shape::Map => size_of::<Address>() as u32,
        }
    }

    /// The offset of the word with its presence bit, in bytes.
    #[inline]
    pub fn presence_offset(&self) -> u32 {
        PRESENCE_OFFSET + (self.bit >> 6) * 8
    }

    /// Its bit in that word.
    #[inline]
    pub fn presence_mask(&self) -> u64 {
        1 << (self.bit & 63)
    }
}

/// Presence bits, as pairs of word and mask.
pub type Masks = Box<[(u32, u64)]>;

/// The layout of the records of one message.
#[derive(Clone, Debug)]
pub struct RecordLayout {
    /// The message.
    pub message: MessageId,
    /// Bytes of a record, a multiple of 8.
    pub bytes: u32,
    /// Bytes at its start that are zeroed when it is made, a multiple of 8.
    pub header_bytes: u32,
    /// The fields ascending by number: the one at `i` has bit `i`.
    pub fields: Box<[FieldId]>,
    /// It is the entry of a map: key and value are always written.
    pub map_entry: bool,
    /// Its extensions are written as the items of a set of messages.
    pub message_set: bool,
    /// The presence bits of required fields, as pairs of word and mask.
    pub required: Masks,
    /// By oneof: the presence bits of its members, as pairs of word and mask.
    oneofs: Box<[Masks]>,
}

impl RecordLayout {
    /// Presence words.
    #[inline]
    pub fn presence_words(&self) -> u32 {
        (self.header_bytes - PRESENCE_OFFSET) / 8
    }

    /// The presence bits of all members of the field's oneof, its own included, as pairs of word
    /// and mask; empty for a field that is no member.
    #[inline]
    pub fn siblings(&self, field: &FieldLayout) -> &[(u32, u64)] {
        field.oneof.map_or(&[], |oneof| &self.oneofs[oneof as usize])
    }
}

/// The storage of the entries of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maps {
    /// They are in a [`Map`](super::map::Map), one for each key.
    Indexed,
    /// They are a list of messages, with duplicates.
    Listed,
}

/// The layouts of all messages of a schema.
#[derive(Clone, Debug)]
pub struct Layouts {
    records: Box<[RecordLayout]>,
    fields: Box<[FieldLayout]>,
    maps: Maps,
}

impl Layouts {
    /// Lays out all messages; [`Schema::layouts`](crate::Schema::layouts) does it once.
    pub fn new(schema: &Definitions) -> Layouts {
        Layouts::with(schema, Maps::Indexed)
    }

    /// Lays out all messages, with maps as `maps` says.
    pub fn with(schema: &Definitions, maps: Maps) -> Layouts {
        let mut fields: Vec<FieldLayout> =
            (0..schema.field_count() as u32).map(|id| outline(schema, FieldId(id), maps)).collect();
        let place = |message| lay_out(schema, message, &mut fields);
        let records = schema.messages().map(place).collect();
        Layouts { records, fields: fields.into(), maps }
    }

    /// The storage of maps in them; two layouts of a schema that agree in it are the same.
    #[inline]
    pub fn maps(&self) -> Maps {
        self.maps
    }

    /// The layout of a message. Panics on an id too great for the schema.
    #[inline]
    pub fn record(&self, message: MessageId) -> &RecordLayout {
        &self.records[message.index()]
    }

    /// The layout of a field. Panics on an id too great for the schema.
    #[inline]
    pub fn field(&self, field: FieldId) -> &FieldLayout {
        &self.fields[field.index()]
    }

    /// The fields of the entries of a map: key and value.
    pub(crate) fn entry_fields(
        &self,
        map: &FieldLayout,
    ) -> (FieldId, &FieldLayout, FieldId, &FieldLayout) {
        let Some(entry) = map.record else { unreachable!("maps have entries") };
        let [key, value] = self.record(entry).fields[..] else {
            unreachable!("entries have a key and a value")
        };
        (key, self.field(key), value, self.field(value))
    }

    /// The layout of a field, if the schema has that id.
    #[inline]
    pub fn find(&self, field: FieldId) -> Option<&FieldLayout> {
        self.fields.get(field.index())
    }
}

/// A field without its place.
fn outline(schema: &Definitions, id: FieldId, maps: Maps) -> FieldLayout {
    let field = schema.field(id);
    let ty = field.field_type();
    let repeated = field.label() == Label::Repeated;
    let is_map = |id: MessageId| schema.message(id).is_map_entry();
    let shape = match (repeated, ty.message()) {
        (false, _) => Shape::Single,
        (true, Some(message)) if maps == Maps::Indexed && is_map(message) => Shape::Map,
        (true, _) => Shape::List,
    };
    let closed = matches!(ty, FieldType::Enum(id) if schema.enum_def(id).is_closed());
    FieldLayout {
        message: field.message(),
        number: field.number(),
        offset: 0,
        bit: 0,
        ty,
        label: field.label(),
        shape,
        cell: Cell::of(ty),
        kind: ValueType::of(ty),
        utf8: ty == FieldType::Scalar(Scalar::String) && field.checks_utf8(),
        closed,
        record: ty.message(),
        numbers: Numbers::of(ty).filter(|_| repeated),
        oneof: None,
        extension: field.extension_name().is_some(),
    }
}

/// The owner of a slot: a field, or all members of a oneof together.
struct Piece {
    bytes: u32,
    members: Vec<FieldId>,
}

fn lay_out(schema: &Definitions, message: MessageId, fields: &mut [FieldLayout]) -> RecordLayout {
    let def = schema.message(message);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut piece_of_oneof = vec![None; def.oneofs().len()];
    let mut oneofs: Vec<Vec<(u32, u64)>> = vec![Vec::new(); def.oneofs().len()];
    let mut required = Vec::new();
    for (bit, &id) in def.fields().iter().enumerate() {
        let field = &mut fields[id.index()];
        field.bit = bit as u32;
        let (word, mask) = (field.bit >> 6, field.presence_mask());
        let bytes = field.slot_bytes();
        if field.label == Label::Required {
            add_bit(&mut required, word, mask);
        }
        let oneof = def.field_defs()[bit].oneof();
        let oneof = oneof.and_then(|id| def.oneofs().iter().position(|&one| one == id));
        let Some(oneof) = oneof else {
            pieces.push(Piece { bytes, members: vec![id] });
            continue;
        };
        field.oneof = Some(oneof as u32);
        add_bit(&mut oneofs[oneof], word, mask);
        match piece_of_oneof[oneof] {
            None => {
                piece_of_oneof[oneof] = Some(pieces.len());
                pieces.push(Piece { bytes, members: vec![id] });
            }
            Some(at) => {
                let piece: &mut Piece = &mut pieces[at];
                piece.bytes = piece.bytes.max(bytes);
                piece.members.push(id);
            }
        }
    }
    let words = def.fields().len().div_ceil(64).max(1) as u32;
    let header_bytes = PRESENCE_OFFSET + 8 * words;
    // Stable: within a size fields stay in the order of their numbers, which is that of the wire.
    sort::by_key(&mut pieces, |piece| std::cmp::Reverse(piece.bytes));
    let mut offset = header_bytes;
    for piece in &pieces {
        for &id in &piece.members {
            fields[id.index()].offset = offset;
        }
        offset += piece.bytes;
    }
    RecordLayout {
        message,
        bytes: offset.next_multiple_of(8),
        header_bytes,
        fields: def.fields().into(),
        map_entry: def.is_map_entry(),
        message_set: def.is_message_set(),
        required: required.into(),
        oneofs: oneofs.into_iter().map(Vec::into_boxed_slice).collect(),
    }
}

fn add_bit(masks: &mut Vec<(u32, u64)>, word: u32, bit: u64) {
    match masks.iter_mut().find(|(known, _)| *known == word) {
        Some((_, mask)) => *mask |= bit,
        None => masks.push((word, bit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::SchemaBuilder;

    #[test]
    fn slots_do_not_overlap_and_are_aligned() {
        let mut builder = SchemaBuilder::new("test");
        let message = builder.message("M");
        let choice = builder.oneof(message, "choice");
        for (i, scalar) in Scalar::ALL.into_iter().enumerate() {
            let number = i as u32 * 10 + 1;
            builder.field(message, format!("a{i}"), number, scalar, Label::Implicit);
            builder.field(message, format!("b{i}"), number + 1, scalar, Label::Repeated);
            builder.field(message, format!("d{i}"), number + 3, scalar, Label::Optional);
            builder.field(message, format!("e{i}"), number + 4, message, Label::Optional);
            builder.oneof_field(choice, format!("c{i}"), number + 2, scalar);
        }
        let schema = builder.build().unwrap();
        let layouts = Layouts::new(&schema);
        let record = layouts.record(message);
        assert_eq!(record.presence_words(), 2);
        assert_eq!(record.header_bytes, 24);
        let mut used = vec![false; record.bytes as usize];
        let mut shared = None;
        for (bit, &id) in record.fields.iter().enumerate() {
            let field = layouts.field(id);
            assert_eq!(field.bit as usize, bit);
            assert_eq!(field.offset % field.slot_bytes().min(8), 0);
            let slot = field.offset as usize..(field.offset + field.slot_bytes()) as usize;
            assert!(slot.start >= record.header_bytes as usize && slot.end <= used.len());
            if field.oneof.is_some() {
                assert_eq!(*shared.get_or_insert(slot.start), slot.start);
                let bits: u32 = record.siblings(field).iter().map(|(_, m)| m.count_ones()).sum();
                assert_eq!(bits, 15);
            } else {
                assert!(record.siblings(field).is_empty());
                assert!(!used[slot.clone()].contains(&true), "{slot:?}");
                used[slot].fill(true);
            }
        }
        let slots = used[record.header_bytes as usize..].iter().filter(|used| !**used).count();
        assert!(slots < 16 + 8, "the slot of the oneof and the padding of the end");
    }
}
