//! Identifiers by SHA-1, as ring protocols place nodes and keys.

use sha1::{Digest, Sha1};

use crate::id::Id;
use crate::text;
use crate::value::Value;

/// The SHA-1 of a text or of bytes, or of the text form of any other value.
pub fn id_of(value: Value<'_>) -> Id {
    match value {
        Value::Str(text) => id_of_bytes(text.as_bytes()),
        Value::Bytes(bytes) => id_of_bytes(bytes),
        _ => {
            let mut form = String::new();
            text::push_plain(&mut form, value);
            id_of_bytes(form.as_bytes())
        }
    }
}

/// The SHA-1 of bytes.
pub fn id_of_bytes(bytes: &[u8]) -> Id {
    Id::from_be_bytes(Sha1::digest(bytes).into())
}
