//! The layout of values that generated code relies on: offsets and tags.

use std::mem::offset_of;

use super::frame::{Base, Frame};
use crate::table::Shape;
use crate::value::{Type, Value};

/// Bytes of a value.
pub(super) const VALUE: i32 = size_of::<Value<'_>>() as i32;
/// The offset of the word of an integer, and of the words of a text.
pub(super) const PAYLOAD: i32 = 8;
/// The offset of a truth value.
pub(super) const TRUTH: i32 = 1;

/// The first byte of a value of this type.
pub(super) const fn tag(of: Type) -> i64 {
    of as i64
}

/// The one byte of null.
pub(super) const NULL: u8 = Type::Null as u8;

/// Bytes of a table's description of one column.
pub(super) const SHAPE: i32 = size_of::<Shape>() as i32;
pub(super) const SHAPE_FORM: i32 = offset_of!(Shape, form) as i32;
pub(super) const SHAPE_OFFSET: i32 = offset_of!(Shape, offset) as i32;

pub(super) const FRAME_SLOTS: i32 = offset_of!(Base<'_>, slots) as i32;
pub(super) const FRAME_OVER: i32 = offset_of!(Frame<'_, '_>, over) as i32;
pub(super) const FRAME_TRIGGER: i32 = offset_of!(Base<'_>, trigger) as i32;
pub(super) const FRAME_WORDS: i32 = offset_of!(Frame<'_, '_>, words) as i32;
pub(super) const FRAME_SHAPES: i32 = offset_of!(Frame<'_, '_>, shapes) as i32;

/// Whether a value has the layout that generated code relies on. The order of the words of a text,
/// which the language does not guarantee, is checked at run time; the rest is known at compile
/// time.
pub(super) fn is_as_expected() -> bool {
    let text = "tide";
    let value = Value::Str(text);
    // SAFETY: the whole value lies there; the words of a text are initialised.
    let words: [usize; 2] = unsafe {
        std::ptr::from_ref(&value).byte_offset(PAYLOAD as isize).cast::<[usize; 2]>().read()
    };
    words == [text.as_ptr() as usize, text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    fn first_byte(value: Value<'_>) -> u8 {
        // SAFETY: the layout says that the tag is the first byte.
        unsafe { std::ptr::from_ref(&value).cast::<u8>().read() }
    }

    #[test]
    fn values_begin_with_their_type() {
        assert!(is_as_expected());
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(7),
            Value::Double(0.5),
            Value::Str("text"),
            Value::Bytes(&[1]),
            Value::Id(Id::from_int(7)),
            Value::Time(7),
            Value::Interval(7),
        ];
        for value in values {
            assert_eq!(i64::from(first_byte(value)), tag(value.type_of()), "{value:?}");
        }
        let (int, truth) = (Value::Int(-7), Value::Bool(true));
        // SAFETY: as the layout says.
        let (word, byte) = unsafe {
            let word = std::ptr::from_ref(&int).byte_offset(PAYLOAD as isize).cast::<i64>().read();
            (word, std::ptr::from_ref(&truth).byte_offset(TRUTH as isize).cast::<u8>().read())
        };
        assert_eq!((word, byte), (-7, 1));
    }
}
