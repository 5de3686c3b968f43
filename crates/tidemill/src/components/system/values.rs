//! Values of the messages that the system sends.

use std::borrow::Cow;

use tidemill_proc::Value;

pub(super) fn integer(value: i64) -> Value<'static> {
    Value::Word(value.cast_unsigned())
}

pub(super) fn text(bytes: impl Into<Vec<u8>>) -> Value<'static> {
    Value::Text(Cow::Owned(bytes.into()))
}

/// A text that only has to last until it is sent.
pub(super) fn lent(bytes: &[u8]) -> Value<'_> {
    Value::Text(Cow::Borrowed(bytes))
}
