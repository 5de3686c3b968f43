//! Scalar values of options.

use std::borrow::Cow;

use super::tree::Value;
use crate::schema::Scalar;
use crate::schema::uninterpreted::OptionValue;
use crate::varint;

/// Outside of braces a NaN has no sign.
pub(super) fn unsigned_nan(value: &OptionValue) -> Cow<'_, OptionValue> {
    match value {
        OptionValue::Double(value) if value.is_nan() => {
            Cow::Owned(OptionValue::Double(f64::NAN.copysign(1.0)))
        }
        value => Cow::Borrowed(value),
    }
}

/// The values of a scalar, as messages to users name them.
pub(super) fn expected(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Double | Scalar::Float => "a number",
        Scalar::Bool => "`true` or `false`",
        Scalar::String | Scalar::Bytes => "a string in quotes",
        Scalar::Uint32 | Scalar::Fixed32 => "an integer from 0 to 4294967295",
        Scalar::Uint64 | Scalar::Fixed64 => "an integer that is not negative",
        Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => "an integer of 32 bits",
        Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => "an integer of 64 bits",
    }
}

/// A value of the text as a scalar; `None` if it is of another type.
pub(super) fn scalar_value(scalar: Scalar, value: &OptionValue) -> Option<Value> {
    let signed = || match *value {
        OptionValue::Positive(value) => i64::try_from(value).ok(),
        OptionValue::Negative(value) => Some(value),
        _ => None,
    };
    let signed32 = || signed().and_then(|value| i32::try_from(value).ok());
    let unsigned = || match *value {
        OptionValue::Positive(value) => Some(value),
        _ => None,
    };
    let unsigned32 = || unsigned().and_then(|value| u32::try_from(value).ok());
    let float = || match value {
        OptionValue::Double(value) => Some(*value),
        OptionValue::Positive(value) => Some(*value as f64),
        OptionValue::Negative(value) => Some(*value as f64),
        OptionValue::Identifier(word) if word == "inf" => Some(f64::INFINITY),
        OptionValue::Identifier(word) if word == "nan" => Some(f64::NAN),
        _ => None,
    };
    Some(match scalar {
        Scalar::Int32 => Value::Varint(i64::from(signed32()?) as u64),
        Scalar::Int64 => Value::Varint(signed()? as u64),
        Scalar::Uint32 => Value::Varint(u64::from(unsigned32()?)),
        Scalar::Uint64 => Value::Varint(unsigned()?),
        Scalar::Sint32 => {
            let value = varint::zigzag(i64::from(signed32()?));
            Value::Varint(value & u64::from(u32::MAX))
        }
        Scalar::Sint64 => Value::Varint(varint::zigzag(signed()?)),
        Scalar::Fixed32 => Value::Fixed32(unsigned32()?),
        Scalar::Sfixed32 => Value::Fixed32(signed32()? as u32),
        Scalar::Fixed64 => Value::Fixed64(unsigned()?),
        Scalar::Sfixed64 => Value::Fixed64(signed()? as u64),
        Scalar::Double => Value::Fixed64(float()?.to_bits()),
        Scalar::Float => Value::Fixed32((float()? as f32).to_bits()),
        Scalar::Bool => match value {
            OptionValue::Identifier(word) if word == "true" => Value::Varint(1),
            OptionValue::Identifier(word) if word == "false" => Value::Varint(0),
            _ => return None,
        },
        Scalar::String | Scalar::Bytes => match value {
            OptionValue::String(bytes) => Value::Bytes(bytes.clone()),
            _ => return None,
        },
    })
}
