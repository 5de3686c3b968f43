//! Message definitions as tables, immutable once built.
//!
//! A [`Schema`] is one package of messages. Messages, fields and oneofs are named by typed 32-bit
//! ids that index its arrays, so definitions refer to each other freely, cycles included, without
//! a pointer. Ids are unique in the whole schema: an event that carries a [`FieldId`] says which
//! message it belongs to. An id means nothing to another schema.
//!
//! [`SchemaBuilder`] makes one; printing one gives `.proto` text of syntax `proto3`.

mod build;
mod ids;
mod print;
mod table;

pub use build::{SchemaBuilder, SchemaError};
pub use ids::{FieldId, MessageId, OneofId};
pub(crate) use table::{FieldTable, Slot, SlotKind};

/// The highest field number there is.
pub const FIELD_NUMBER_MAX: u32 = (1 << 29) - 1;

/// How values lie in bytes; the numbers are those of a tag's lowest three bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum WireType {
    /// Up to ten bytes, seven bits each.
    Varint = 0,
    /// Eight bytes, little endian.
    Fixed64 = 1,
    /// A varint length, then as many bytes.
    Length = 2,
    /// Fields up to the matching end.
    StartGroup = 3,
    /// The end of a group.
    EndGroup = 4,
    /// Four bytes, little endian.
    Fixed32 = 5,
}

impl WireType {
    /// From the lowest three bits of a tag; 6 and 7 are nothing.
    #[inline]
    pub fn from_tag(tag: u64) -> Option<WireType> {
        Some(match tag & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Length,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            _ => return None,
        })
    }
}

/// The fifteen scalar types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// IEEE double, eight bytes.
    Double,
    /// IEEE single, four bytes.
    Float,
    /// Signed, as a varint of its two's complement.
    Int64,
    /// Unsigned, as a varint.
    Uint64,
    /// Signed, as a varint of its 64-bit two's complement.
    Int32,
    /// Unsigned, eight bytes.
    Fixed64,
    /// Unsigned, four bytes.
    Fixed32,
    /// A varint that is not zero.
    Bool,
    /// UTF-8 text.
    String,
    /// Any bytes.
    Bytes,
    /// Unsigned, as a varint.
    Uint32,
    /// Signed, four bytes.
    Sfixed32,
    /// Signed, eight bytes.
    Sfixed64,
    /// Signed, as a zigzag varint.
    Sint32,
    /// Signed, as a zigzag varint.
    Sint64,
}

impl Scalar {
    /// The keyword of `.proto` text.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Double => "double",
            Scalar::Float => "float",
            Scalar::Int64 => "int64",
            Scalar::Uint64 => "uint64",
            Scalar::Int32 => "int32",
            Scalar::Fixed64 => "fixed64",
            Scalar::Fixed32 => "fixed32",
            Scalar::Bool => "bool",
            Scalar::String => "string",
            Scalar::Bytes => "bytes",
            Scalar::Uint32 => "uint32",
            Scalar::Sfixed32 => "sfixed32",
            Scalar::Sfixed64 => "sfixed64",
            Scalar::Sint32 => "sint32",
            Scalar::Sint64 => "sint64",
        }
    }

    /// How one value lies in bytes.
    pub fn wire_type(self) -> WireType {
        match self {
            Scalar::Double | Scalar::Fixed64 | Scalar::Sfixed64 => WireType::Fixed64,
            Scalar::Float | Scalar::Fixed32 | Scalar::Sfixed32 => WireType::Fixed32,
            Scalar::String | Scalar::Bytes => WireType::Length,
            _ => WireType::Varint,
        }
    }

    /// True for all but strings and bytes: repeated ones may share one length.
    pub fn is_packable(self) -> bool {
        self.wire_type() != WireType::Length
    }
}

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// A scalar.
    Scalar(Scalar),
    /// A message of the same schema.
    Message(MessageId),
}

impl From<Scalar> for FieldType {
    fn from(scalar: Scalar) -> FieldType {
        FieldType::Scalar(scalar)
    }
}

impl From<MessageId> for FieldType {
    fn from(message: MessageId) -> FieldType {
        FieldType::Message(message)
    }
}

/// How often a field may stand in its message, and whether its absence shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// At most once; a scalar that is zero or empty is not written.
    Implicit,
    /// At most once; absent differs from zero.
    Optional,
    /// Any number of times, packed where the type allows.
    Repeated,
}

/// One field of a message.
#[derive(Clone, Debug)]
pub struct Field {
    pub(crate) name: String,
    pub(crate) message: MessageId,
    pub(crate) number: u32,
    pub(crate) ty: FieldType,
    pub(crate) label: Label,
    pub(crate) oneof: Option<OneofId>,
    /// The varint of number and wire type as it is written.
    pub(crate) tag: Tag,
}

impl Field {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The message that has this field.
    pub fn message(&self) -> MessageId {
        self.message
    }

    /// 1 to [`FIELD_NUMBER_MAX`].
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What it holds.
    pub fn field_type(&self) -> FieldType {
        self.ty
    }

    /// How often it may stand.
    pub fn label(&self) -> Label {
        self.label
    }

    /// The oneof that it is a member of.
    pub fn oneof(&self) -> Option<OneofId> {
        self.oneof
    }
}

/// A tag in its written form, at most five bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tag {
    bytes: [u8; 5],
    length: u8,
}

impl Tag {
    pub(crate) fn new(number: u32, wire_type: WireType) -> Tag {
        let mut tag = Tag { bytes: [0; 5], length: 0 };
        let mut rest = number << 3 | wire_type as u32;
        loop {
            let more = if rest >= 0x80 { 0x80 } else { 0 };
            tag.bytes[usize::from(tag.length)] = rest as u8 & 0x7f | more;
            tag.length += 1;
            rest >>= 7;
            if rest == 0 {
                return tag;
            }
        }
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// One message.
#[derive(Clone, Debug)]
pub struct Message {
    pub(crate) name: String,
    /// Ascending by number.
    pub(crate) fields: Box<[FieldId]>,
    pub(crate) oneofs: Box<[OneofId]>,
    pub(crate) table: FieldTable,
}

impl Message {
    /// The name without the package.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fields, ascending by number.
    pub fn fields(&self) -> &[FieldId] {
        &self.fields
    }

    /// The oneofs in the order of their declaration.
    pub fn oneofs(&self) -> &[OneofId] {
        &self.oneofs
    }
}

/// A choice among fields: at most one of them is set.
#[derive(Clone, Debug)]
pub struct Oneof {
    pub(crate) name: String,
    /// Ascending by number.
    pub(crate) fields: Box<[FieldId]>,
}

impl Oneof {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The members, ascending by number.
    pub fn fields(&self) -> &[FieldId] {
        &self.fields
    }
}

/// A package of messages; see the module. Printing it gives its `.proto` text.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) package: String,
    pub(crate) messages: Box<[Message]>,
    pub(crate) fields: Box<[Field]>,
    pub(crate) oneofs: Box<[Oneof]>,
}

impl Schema {
    /// The package, empty for none.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// All messages in the order of their declaration.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = MessageId> {
        (0..self.messages.len() as u32).map(MessageId)
    }

    /// A message. Panics on an id of another, larger schema, as the other getters do.
    #[inline]
    pub fn message(&self, id: MessageId) -> &Message {
        &self.messages[id.index()]
    }

    /// A field.
    #[inline]
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.index()]
    }

    /// A oneof.
    pub fn oneof(&self, id: OneofId) -> &Oneof {
        &self.oneofs[id.index()]
    }

    /// The message of that name (without package).
    pub fn message_by_name(&self, name: &str) -> Option<MessageId> {
        self.messages().find(|&id| self.message(id).name == name)
    }

    /// The field of that number.
    pub fn field_by_number(&self, message: MessageId, number: u32) -> Option<FieldId> {
        self.message(message).table.find(number).map(|slot| slot.field)
    }

    /// The field of that name.
    pub fn field_by_name(&self, message: MessageId, name: &str) -> Option<FieldId> {
        self.message(message).fields.iter().copied().find(|&id| self.field(id).name == name)
    }

    /// The name of a message with its package.
    pub fn full_name(&self, message: MessageId) -> String {
        let name = self.message(message).name();
        if self.package.is_empty() { name.into() } else { format!("{}.{name}", self.package) }
    }
}
