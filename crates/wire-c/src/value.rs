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
pub(crate) enum Kind {
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
pub(crate) fn kind_of(ty: FieldType) -> Kind {
    match message::Kind::of(ty) {
        message::Kind::F64 => Kind::F64,
        message::Kind::F32 => Kind::F32,
        message::Kind::I64 => Kind::I64,
        message::Kind::U64 => Kind::U64,
        message::Kind::I32 => Kind::I32,
        message::Kind::U32 => Kind::U32,
        message::Kind::Bool => Kind::Bool,
        message::Kind::String => Kind::String,
        message::Kind::Bytes => Kind::Bytes,
        message::Kind::Enum => Kind::Enum,
        message::Kind::Message => Kind::Message,
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
    pub(crate) const NONE: CValue = CValue::new(Kind::Absent, Content { message: View::NONE });

    pub(crate) const fn new(kind: Kind, content: Content) -> CValue {
        CValue { kind: kind as u32, content }
    }

    pub(crate) fn text(kind: Kind, bytes: &[u8]) -> CValue {
        CValue::new(kind, Content { bytes: Bytes::of(bytes) })
    }

    /// A value that was read through `view`.
    pub(crate) fn of(value: &Value<'_>, view: View) -> CValue {
        match *value {
            Value::F64(f64) => CValue::new(Kind::F64, Content { f64 }),
            Value::F32(f32) => CValue::new(Kind::F32, Content { f32 }),
            Value::I64(i64) => CValue::new(Kind::I64, Content { i64 }),
            Value::U64(u64) => CValue::new(Kind::U64, Content { u64 }),
            Value::I32(i32) => CValue::new(Kind::I32, Content { i32 }),
            Value::U32(u32) => CValue::new(Kind::U32, Content { u32 }),
            Value::Bool(value) => CValue::new(Kind::Bool, Content { boolean: value.into() }),
            Value::String(text) => CValue::text(Kind::String, text.as_bytes()),
            Value::Bytes(bytes) => CValue::text(Kind::Bytes, bytes),
            Value::Enum(i32) => CValue::new(Kind::Enum, Content { i32 }),
            Value::Message(inner) => {
                CValue::new(Kind::Message, Content { message: view.moved(inner.place()) })
            }
            Value::List(list) => CValue::new(Kind::List, Content { count: list.len() }),
            Value::Map(map) => CValue::new(Kind::Map, Content { count: map.len() }),
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
        const KINDS: [Kind; 11] = [
            Kind::F64,
            Kind::F32,
            Kind::I64,
            Kind::U64,
            Kind::I32,
            Kind::U32,
            Kind::Bool,
            Kind::String,
            Kind::Bytes,
            Kind::Enum,
            Kind::Message,
        ];
        let found = KINDS.into_iter().find(|kind| *kind as u32 == self.kind);
        let Some(kind) = found else {
            return Err(Failure::misuse(format!("kind {} is not to be stored", self.kind)));
        };
        let content = &self.content;
        // SAFETY: the caller guarantees that the member that the kind names was written.
        let value = unsafe {
            match kind {
                Kind::F64 => Value::F64(content.f64),
                Kind::F32 => Value::F32(content.f32),
                Kind::I64 => Value::I64(content.i64),
                Kind::U64 => Value::U64(content.u64),
                Kind::I32 => Value::I32(content.i32),
                Kind::U32 => Value::U32(content.u32),
                Kind::Enum => Value::Enum(content.i32),
                Kind::Bool => Value::Bool(content.boolean != 0),
                Kind::String => {
                    let text = bytes(content.bytes.data, content.bytes.length, "the string")?;
                    match std::str::from_utf8(text) {
                        Ok(text) => Value::String(text),
                        // A field that does not require UTF-8 may accept it.
                        Err(_) => Value::Bytes(text),
                    }
                }
                Kind::Bytes => {
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
