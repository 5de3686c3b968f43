//! Values of fields: numbers, strings, and references to messages, lists and maps, which are cheap
//! to copy. The accessors of references are in `read`.

use std::marker::PhantomData;

use super::layout::{FieldLayout, RecordLayout, ValueType};
use super::map::{Key, Map};
use super::record::Record;
use super::slots::List;
use crate::schema::{FieldId, Schema};

/// The value of a field, of an element of a list, or of a key or value of a map.
#[derive(Clone, Copy, Debug)]
pub enum Value<'m> {
    /// Of `double`.
    F64(f64),
    /// Of `float`.
    F32(f32),
    /// Of `int64`, `sint64`, `sfixed64`.
    I64(i64),
    /// Of `uint64`, `fixed64`.
    U64(u64),
    /// Of `int32`, `sint32`, `sfixed32`.
    I32(i32),
    /// Of `uint32`, `fixed32`.
    U32(u32),
    /// Of `bool`.
    Bool(bool),
    /// Of `string`.
    String(&'m str),
    /// Of `bytes`; and of a `string` that is not UTF-8, in a file that does not require it.
    Bytes(&'m [u8]),
    /// Of an enum: the number.
    Enum(i32),
    /// Of a message or group.
    Message(MessageRef<'m>),
    /// Of a repeated field.
    List(ListRef<'m>),
    /// Of a map.
    Map(MapRef<'m>),
}

impl Value<'_> {
    /// Its name in messages to users.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Value::F64(_) => ValueType::F64.name(),
            Value::F32(_) => ValueType::F32.name(),
            Value::I64(_) => ValueType::I64.name(),
            Value::U64(_) => ValueType::U64.name(),
            Value::I32(_) => ValueType::I32.name(),
            Value::U32(_) => ValueType::U32.name(),
            Value::Bool(_) => ValueType::Bool.name(),
            Value::String(_) => ValueType::String.name(),
            Value::Bytes(_) => ValueType::Bytes.name(),
            Value::Enum(_) => ValueType::Enum.name(),
            Value::Message(_) => ValueType::Message.name(),
            Value::List(_) => "list",
            Value::Map(_) => "map",
        }
    }
}

macro_rules! conversions {
    ($($variant:ident($ty:ty) $name:ident, $doc:literal;)+) => {
        impl<'m> Value<'m> {
            $(
                #[doc = $doc]
                pub fn $name(&self) -> Option<$ty> {
                    match *self {
                        Value::$variant(value) => Some(value),
                        _ => None,
                    }
                }
            )+
        }
        $(
            impl<'m> From<$ty> for Value<'m> {
                fn from(value: $ty) -> Value<'m> {
                    Value::$variant(value)
                }
            }
        )+
    };
}

conversions! {
    F64(f64) as_f64, "The `double`, if it is one.";
    F32(f32) as_f32, "The `float`, if it is one.";
    I64(i64) as_i64, "The 64-bit integer, if it is one.";
    U64(u64) as_u64, "The unsigned 64-bit integer, if it is one.";
    I32(i32) as_i32, "The 32-bit integer, if it is one; numbers of enums are [`Value::Enum`].";
    U32(u32) as_u32, "The unsigned 32-bit integer, if it is one.";
    Bool(bool) as_bool, "The truth value, if it is one.";
    String(&'m str) as_str, "The string, if it is one.";
    Bytes(&'m [u8]) as_bytes, "The bytes, if it is some.";
    Message(MessageRef<'m>) as_message, "The message, if it is one.";
    List(ListRef<'m>) as_list, "The list, if it is one.";
    Map(MapRef<'m>) as_map, "The map, if it is one.";
}

impl Value<'_> {
    /// The number of an enum, if it is one.
    pub fn as_enum(&self) -> Option<i32> {
        match *self {
            Value::Enum(number) => Some(number),
            _ => None,
        }
    }
}

impl<'k> Value<'k> {
    /// The value as a key of a map; `None` if keys are of another type.
    pub(super) fn key(&self, layout: &FieldLayout) -> Option<Key<'k>> {
        Some(match (*self, layout.kind) {
            (Value::I64(value), ValueType::I64) => Key::Word(value as u64),
            (Value::U64(value), ValueType::U64) => Key::Word(value),
            (Value::I32(value), ValueType::I32) => Key::Word(u64::from(value as u32)),
            (Value::U32(value), ValueType::U32) => Key::Word(value.into()),
            (Value::Bool(value), ValueType::Bool) => Key::Word(value.into()),
            (Value::String(value), ValueType::String) => Key::Bytes(value.as_bytes()),
            _ => return None,
        })
    }
}

/// A message, or the empty one of its type if absent.
#[derive(Clone, Copy)]
pub struct MessageRef<'m> {
    pub(crate) schema: &'m Schema,
    pub(crate) layout: &'m RecordLayout,
    /// `None` for the empty message.
    pub(crate) record: Option<Record>,
    pub(crate) tree: PhantomData<&'m [u8]>,
}

// SAFETY: the record does not change while the reference lives.
unsafe impl Send for MessageRef<'_> {}
// SAFETY: the record does not change while the reference lives.
unsafe impl Sync for MessageRef<'_> {}

/// The values of a repeated field.
#[derive(Clone, Copy)]
pub struct ListRef<'m> {
    pub(super) schema: &'m Schema,
    pub(super) field: FieldId,
    pub(super) layout: &'m FieldLayout,
    pub(super) list: List,
    pub(super) tree: PhantomData<&'m [u8]>,
}

// SAFETY: the list does not change while the reference lives.
unsafe impl Send for ListRef<'_> {}
// SAFETY: the list does not change while the reference lives.
unsafe impl Sync for ListRef<'_> {}

/// The entries of a map field.
#[derive(Clone, Copy)]
pub struct MapRef<'m> {
    pub(super) schema: &'m Schema,
    pub(super) field: FieldId,
    pub(super) layout: &'m FieldLayout,
    pub(super) map: Option<&'m Map>,
}

// SAFETY: the map does not change while the reference lives.
unsafe impl Send for MapRef<'_> {}
// SAFETY: the map does not change while the reference lives.
unsafe impl Sync for MapRef<'_> {}
