//! Keys of maps.

use tidemill_wire::message::Value;

/// A key of a map.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Key {
    I64(i64),
    U64(u64),
    I32(i32),
    U32(u32),
    Bool(bool),
    String(String),
}

impl Key {
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Key::I64(key) => Value::I64(*key),
            Key::U64(key) => Value::U64(*key),
            Key::I32(key) => Value::I32(*key),
            Key::U32(key) => Value::U32(*key),
            Key::Bool(key) => Value::Bool(*key),
            Key::String(key) => Value::String(key),
        }
    }

    pub(crate) fn of(value: &Value<'_>) -> Option<Key> {
        Some(match value {
            Value::I64(key) => Key::I64(*key),
            Value::U64(key) => Key::U64(*key),
            Value::I32(key) => Key::I32(*key),
            Value::U32(key) => Key::U32(*key),
            Value::Bool(key) => Key::Bool(*key),
            Value::String(key) => Key::String((*key).to_owned()),
            _ => return None,
        })
    }
}
