//! The kinds of values: their names, encodings and labels.

use super::{EnumId, MessageId};

/// The highest field number.
pub const FIELD_NUMBER_MAX: u32 = (1 << 29) - 1;

/// The encodings of values; the numbers are those of a tag's lowest three bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum WireType {
    /// Up to ten bytes, seven bits each.
    Varint = 0,
    /// Eight bytes, little endian.
    Fixed64 = 1,
    /// A varint length, then `length` bytes.
    Length = 2,
    /// Fields up to the matching end.
    StartGroup = 3,
    /// The end of a group.
    EndGroup = 4,
    /// Four bytes, little endian.
    Fixed32 = 5,
}

impl WireType {
    /// The type of the lowest three bits of a tag; `None` for 6 and 7.
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
    /// All of them.
    pub const ALL: [Scalar; 15] = [
        Scalar::Double,
        Scalar::Float,
        Scalar::Int64,
        Scalar::Uint64,
        Scalar::Int32,
        Scalar::Fixed64,
        Scalar::Fixed32,
        Scalar::Bool,
        Scalar::String,
        Scalar::Bytes,
        Scalar::Uint32,
        Scalar::Sfixed32,
        Scalar::Sfixed64,
        Scalar::Sint32,
        Scalar::Sint64,
    ];

    /// The number of the type in descriptors (`FieldDescriptorProto.Type`).
    pub fn type_number(self) -> u8 {
        match self {
            Scalar::Double => 1,
            Scalar::Float => 2,
            Scalar::Int64 => 3,
            Scalar::Uint64 => 4,
            Scalar::Int32 => 5,
            Scalar::Fixed64 => 6,
            Scalar::Fixed32 => 7,
            Scalar::Bool => 8,
            Scalar::String => 9,
            Scalar::Bytes => 12,
            Scalar::Uint32 => 13,
            Scalar::Sfixed32 => 15,
            Scalar::Sfixed64 => 16,
            Scalar::Sint32 => 17,
            Scalar::Sint64 => 18,
        }
    }

    /// The inverse of [`Scalar::type_number`].
    pub fn from_type_number(number: u8) -> Option<Scalar> {
        Scalar::ALL.into_iter().find(|scalar| scalar.type_number() == number)
    }

    /// The scalar of a keyword.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Some(match name.as_bytes() {
            b"double" => Scalar::Double,
            b"float" => Scalar::Float,
            b"int64" => Scalar::Int64,
            b"uint64" => Scalar::Uint64,
            b"int32" => Scalar::Int32,
            b"fixed64" => Scalar::Fixed64,
            b"fixed32" => Scalar::Fixed32,
            b"bool" => Scalar::Bool,
            b"string" => Scalar::String,
            b"bytes" => Scalar::Bytes,
            b"uint32" => Scalar::Uint32,
            b"sfixed32" => Scalar::Sfixed32,
            b"sfixed64" => Scalar::Sfixed64,
            b"sint32" => Scalar::Sint32,
            b"sint64" => Scalar::Sint64,
            _ => return None,
        })
    }

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

    /// The encoding of one value.
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

/// The type of a field's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// A scalar.
    Scalar(Scalar),
    /// A message, under a length.
    Message(MessageId),
    /// A message between a start tag and an end tag.
    Group(MessageId),
    /// A number with names.
    Enum(EnumId),
}

impl FieldType {
    /// The message of a field that holds one.
    #[inline]
    pub fn message(self) -> Option<MessageId> {
        match self {
            FieldType::Message(id) | FieldType::Group(id) => Some(id),
            FieldType::Scalar(_) | FieldType::Enum(_) => None,
        }
    }

    /// The encoding of one value.
    pub fn wire_type(self) -> WireType {
        match self {
            FieldType::Scalar(scalar) => scalar.wire_type(),
            FieldType::Enum(_) => WireType::Varint,
            FieldType::Message(_) => WireType::Length,
            FieldType::Group(_) => WireType::StartGroup,
        }
    }

    /// True for numbers: repeated ones may share one length.
    pub fn is_packable(self) -> bool {
        !matches!(self.wire_type(), WireType::Length | WireType::StartGroup)
    }
}

impl From<Scalar> for FieldType {
    fn from(scalar: Scalar) -> FieldType {
        FieldType::Scalar(scalar)
    }
}

impl From<EnumId> for FieldType {
    fn from(id: EnumId) -> FieldType {
        FieldType::Enum(id)
    }
}

impl From<MessageId> for FieldType {
    fn from(message: MessageId) -> FieldType {
        FieldType::Message(message)
    }
}

/// How often a field may occur in its message, and whether it has presence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// At most once; a scalar that is zero or empty is not written.
    Implicit,
    /// At most once; absent differs from zero.
    Optional,
    /// Exactly once.
    Required,
    /// Any number of times.
    Repeated,
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

    /// The bytes, padded with zeros to the longest tag.
    #[inline]
    pub(crate) fn padded(&self) -> &[u8; 5] {
        &self.bytes
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}
