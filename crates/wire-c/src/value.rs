//! Values for C.

use tidemill_wire::Message;
use tidemill_wire::message::{self, Value};
use tidemill_wire::schema::FieldType;

use crate::error::Failure;
use crate::guard::{Bytes, Outcome, bytes};
use crate::view::{CMessage, View};

/// The kind of a value; the numbers are those of `tidemill_kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum ValueKind {
    Absent = 0,
    F64 = 1,
    F32 = 2,
    I64 = 3,
    U64 = 4,
    I32 = 5,
    U32 = 6,
    Bool = 7,
    String = 8,
    Bytes = 9,
    Enum = 10,
    Message = 11,
    List = 12,
    Map = 13,
}

/// The kind of one value of a field.
pub(crate) fn kind_of(ty: FieldType) -> ValueKind {
    match message::ValueType::of(ty) {
        message::ValueType::F64 => ValueKind::F64,
        message::ValueType::F32 => ValueKind::F32,
        message::ValueType::I64 => ValueKind::I64,
        message::ValueType::U64 => ValueKind::U64,
        message::ValueType::I32 => ValueKind::I32,
        message::ValueType::U32 => ValueKind::U32,
        message::ValueType::Bool => ValueKind::Bool,
        message::ValueType::String => ValueKind::String,
        message::ValueType::Bytes => ValueKind::Bytes,
        message::ValueType::Enum => ValueKind::Enum,
        message::ValueType::Message => ValueKind::Message,
    }
}

/// `tidemill_value`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CValue {
    pub(crate) kind: u32,
    pub(crate) content: Content,
}

/// The contents of a value; the kind names the member.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Content {
    pub(crate) f64: f64,
    pub(crate) f32: f32,
    pub(crate) i64: i64,
    pub(crate) u64: u64,
    pub(crate) i32: i32,
    pub(crate) u32: u32,
    /// 0 or 1 in results; in arguments anything but 0 is true.
    pub(crate) boolean: u8,
    pub(crate) bytes: Bytes,
    pub(crate) message: View,
    /// Elements of a list, entries of a map.
    pub(crate) count: usize,
}

impl CValue {
    pub(crate) const NONE: CValue = CValue::new(ValueKind::Absent, Content { message: View::NONE });

    pub(crate) const fn new(kind: ValueKind, content: Content) -> CValue {
        CValue { kind: kind as u32, content }
    }

    pub(crate) fn text(kind: ValueKind, bytes: &[u8]) -> CValue {
        CValue::new(kind, Content { bytes: Bytes::of(bytes) })
    }

    /// A value that was read through `view`.
    pub(crate) fn of(value: &Value<'_>, view: View) -> CValue {
        match *value {
            Value::F64(f64) => CValue::new(ValueKind::F64, Content { f64 }),
            Value::F32(f32) => CValue::new(ValueKind::F32, Content { f32 }),
            Value::I64(i64) => CValue::new(ValueKind::I64, Content { i64 }),
            Value::U64(u64) => CValue::new(ValueKind::U64, Content { u64 }),
            Value::I32(i32) => CValue::new(ValueKind::I32, Content { i32 }),
            Value::U32(u32) => CValue::new(ValueKind::U32, Content { u32 }),
            Value::Bool(value) => CValue::new(ValueKind::Bool, Content { boolean: value.into() }),
            Value::String(text) => CValue::text(ValueKind::String, text.as_bytes()),
            Value::Bytes(bytes) => CValue::text(ValueKind::Bytes, bytes),
            Value::Enum(i32) => CValue::new(ValueKind::Enum, Content { i32 }),
            Value::Message(inner) => {
                CValue::new(ValueKind::Message, Content { message: view.moved(inner.place()) })
            }
            Value::List(list) => CValue::new(ValueKind::List, Content { count: list.len() }),
            Value::Map(map) => CValue::new(ValueKind::Map, Content { count: map.len() }),
        }
    }

    /// Calls the closure with the value from C, to be stored in a message of the tree `into`.
    ///
    /// # Safety
    /// The member that the kind names was written.
    pub(crate) unsafe fn give<T>(
        &self,
        into: *const CMessage,
        store: impl FnOnce(Value<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        const KINDS: [ValueKind; 11] = [
            ValueKind::F64,
            ValueKind::F32,
            ValueKind::I64,
            ValueKind::U64,
            ValueKind::I32,
            ValueKind::U32,
            ValueKind::Bool,
            ValueKind::String,
            ValueKind::Bytes,
            ValueKind::Enum,
            ValueKind::Message,
        ];
        let found = KINDS.into_iter().find(|kind| *kind as u32 == self.kind);
        let Some(kind) = found else {
            return Err(Failure::misuse(format!("kind {} is not to be stored", self.kind)));
        };
        let content = &self.content;
        // SAFETY: the caller guarantees that the member that the kind names was written.
        let value = unsafe {
            match kind {
                ValueKind::F64 => Value::F64(content.f64),
                ValueKind::F32 => Value::F32(content.f32),
                ValueKind::I64 => Value::I64(content.i64),
                ValueKind::U64 => Value::U64(content.u64),
                ValueKind::I32 => Value::I32(content.i32),
                ValueKind::U32 => Value::U32(content.u32),
                ValueKind::Enum => Value::Enum(content.i32),
                ValueKind::Bool => Value::Bool(content.boolean != 0),
                ValueKind::String => {
                    let text = bytes(content.bytes.data, content.bytes.length, "the string")?;
                    match std::str::from_utf8(text) {
                        Ok(text) => Value::String(text),
                        // A field that does not require UTF-8 may accept it.
                        Err(_) => Value::Bytes(text),
                    }
                }
                ValueKind::Bytes => {
                    Value::Bytes(bytes(content.bytes.data, content.bytes.length, "the bytes")?)
                }
                _ => return give_message(content.message, into, store),
            }
        };
        store(value)
    }
}

/// A message of the tree that is changed is copied first, so that nothing is read while it is
/// written.
///
/// # Safety
/// The view is zero or that of a live message.
unsafe fn give_message<T>(
    view: View,
    into: *const CMessage,
    store: impl FnOnce(Value<'_>) -> Outcome<T>,
) -> Outcome<T> {
    // SAFETY: the caller guarantees that it is a view, or null.
    let given = unsafe { view.read()? };
    if !std::ptr::eq(view.message, into) {
        return store(Value::Message(given));
    }
    let mut copy = Message::new(given.schema(), given.message_type())?;
    copy.merge(given)?;
    store(Value::Message(copy.as_ref()))
}
