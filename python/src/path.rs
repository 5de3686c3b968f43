//! The way from the outermost message to one inside it.

use pyo3::prelude::*;
use tidemill_wire::FieldId;
use tidemill_wire::message::{AccessError, MessageMut, MessageRef, Value};

use crate::error;

/// One step inwards.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Into a message field.
    Field(FieldId),
    /// Into an element of a repeated field.
    Element(FieldId, usize),
    /// Into the value of a map.
    Entry(FieldId, Key),
}

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

fn gone() -> PyErr {
    error::Error::new_err("the message that this belonged to has been taken out")
}

/// Walks the path to read; a message that is not set is an empty one.
pub(crate) fn read<'m>(mut at: MessageRef<'m>, path: &[Step]) -> PyResult<MessageRef<'m>> {
    for step in path {
        let value = match step {
            Step::Field(field) => at.get(*field).map_err(error::access)?,
            Step::Element(field, index) => match at.get(*field).map_err(error::access)? {
                Value::List(list) => list.get(*index).ok_or_else(gone)?,
                _ => return Err(gone()),
            },
            Step::Entry(field, key) => match at.get(*field).map_err(error::access)? {
                Value::Map(map) => map.get(key.value()).map_err(error::access)?.ok_or_else(gone)?,
                _ => return Err(gone()),
            },
        };
        at = match value {
            Value::Message(message) => message,
            _ => return Err(gone()),
        };
    }
    Ok(at)
}

/// Walks the path to write, which sets the messages on it, and changes what is there.
pub(crate) fn write<T>(
    mut at: MessageMut<'_>,
    path: &[Step],
    change: impl FnOnce(MessageMut<'_>) -> Result<T, AccessError>,
) -> PyResult<T> {
    let Some((step, rest)) = path.split_first() else { return change(at).map_err(error::access) };
    match step {
        Step::Field(field) => write(at.message_mut(*field).map_err(error::access)?, rest, change),
        Step::Element(field, index) => {
            let mut list = at.list_mut(*field).map_err(error::access)?;
            write(list.message_mut(*index).map_err(|_| gone())?, rest, change)
        }
        Step::Entry(field, key) => {
            let mut map = at.map_mut(*field).map_err(error::access)?;
            if map.as_ref().get(key.value()).map_err(error::access)?.is_none() {
                return Err(gone());
            }
            write(map.message_mut(key.value()).map_err(error::access)?, rest, change)
        }
    }
}
