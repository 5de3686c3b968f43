//! Defaults, and the escapes in which descriptors write bytes.

use crate::escape::{BadEscape, Dialect, escape_bytes};

use super::FieldType;
use super::Scalar;
use super::defs::DefaultValue;
use super::draft::Draft;

/// The value of a default as descriptors write it; `None` if it is of another type.
pub fn default_value(draft: &Draft, ty: FieldType, text: &str) -> Option<DefaultValue> {
    let scalar = match ty {
        FieldType::Scalar(scalar) => scalar,
        FieldType::Message(_) | FieldType::Group(_) => return None,
        FieldType::Enum(id) => {
            let value = draft.enum_(id).values.iter().find(|value| value.name == text)?;
            return Some(DefaultValue::Enum(value.number));
        }
    };
    Some(match scalar {
        Scalar::Double => DefaultValue::F64(text.parse().ok()?),
        Scalar::Float => DefaultValue::F32(text.parse().ok()?),
        Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => DefaultValue::I64(text.parse().ok()?),
        Scalar::Uint64 | Scalar::Fixed64 => DefaultValue::U64(text.parse().ok()?),
        Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => DefaultValue::I32(text.parse().ok()?),
        Scalar::Uint32 | Scalar::Fixed32 => DefaultValue::U32(text.parse().ok()?),
        Scalar::Bool => DefaultValue::Bool(text.parse().ok()?),
        Scalar::String => DefaultValue::String(text.into()),
        Scalar::Bytes => DefaultValue::Bytes(unescape(text).ok()?.into()),
    })
}

/// Bytes with the escapes of C.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    escape_bytes(&mut out, bytes);
    out.into_iter().map(char::from).collect()
}

/// The bytes of a text with escapes: all that [`escape`] writes and C and `protoc` accept.
pub(crate) fn unescape(text: &str) -> Result<Vec<u8>, BadEscape> {
    let mut out = Vec::with_capacity(text.len());
    crate::escape::unescape(&mut out, text, Dialect::Schema)?;
    Ok(out)
}
