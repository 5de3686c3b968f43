//! Defaults, and the escapes in which descriptors write bytes.

use super::FieldType;
use super::Scalar;
use super::defs::DefaultValue;
use super::draft::Draft;

/// The value of a default as descriptors write it; `None` if it is none of that type.
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

/// Bytes as C would write them: octal escapes for what is not printable.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' | b'\'' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            0x20..0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out
}

/// A bad escape: where it begins and ends, and what is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadEscape {
    /// First byte.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// The bytes of a text with escapes; the inverse of [`escape`], and all that C and `protoc` take.
pub fn unescape(text: &str) -> Result<Vec<u8>, BadEscape> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        at = escaped(bytes, at, &mut out)?;
    }
    Ok(out)
}

/// Reads the escape at `start`; gives where it ends.
fn escaped(bytes: &[u8], start: usize, out: &mut Vec<u8>) -> Result<usize, BadEscape> {
    let bad = |end: usize, what| Err(BadEscape { start, end: end.min(bytes.len()), what });
    let digits = |at: usize, base: u32, most: usize| {
        let count = bytes[at..]
            .iter()
            .take(most)
            .take_while(|byte| char::from(**byte).is_digit(base))
            .count();
        let digits = std::str::from_utf8(&bytes[at..at + count]).unwrap_or_default();
        (u32::from_str_radix(digits, base).unwrap_or(0), count)
    };
    let Some(&kind) = bytes.get(start + 1) else { return bad(start + 1, "nothing is escaped") };
    let simple = match kind {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' | b'\'' | b'"' | b'?' => kind,
        b'0'..=b'7' => {
            let (value, count) = digits(start + 1, 8, 3);
            out.push(value as u8);
            return Ok(start + 1 + count);
        }
        b'x' | b'X' => {
            let (value, count) = digits(start + 2, 16, 2);
            if count == 0 {
                return bad(start + 2, "hexadecimal digits are missing");
            }
            out.push(value as u8);
            return Ok(start + 2 + count);
        }
        b'u' | b'U' => {
            let most = if kind == b'u' { 4 } else { 8 };
            let (mut value, count) = digits(start + 2, 16, most);
            if count < most {
                return bad(start + 2, "hexadecimal digits are missing");
            }
            let mut end = start + 2 + count;
            // A pair of surrogates is one character.
            if (0xD800..0xDC00).contains(&value) && bytes[end..].starts_with(b"\\u") {
                let (low, count) = digits(end + 2, 16, 4);
                if count == 4 && (0xDC00..0xE000).contains(&low) {
                    value = 0x10000 + ((value - 0xD800) << 10 | (low - 0xDC00));
                    end += 6;
                }
            }
            let Some(character) = char::from_u32(value) else {
                return bad(end, "there is no such character");
            };
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(end);
        }
        _ => return bad(start + 2, "there is no such escape"),
    };
    out.push(simple);
    Ok(start + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&escape(&all)), Ok(all));
        assert_eq!(unescape(r"\x41\101\u00e9\U0001F600\?").unwrap(), "AAé😀?".as_bytes());
        assert_eq!(unescape(r"\ud83d\ude00").unwrap(), "😀".as_bytes());
        assert_eq!(unescape(r"a\q").map_err(|bad| (bad.start, bad.end)), Err((1, 3)));
        assert!(unescape("\\").is_err() && unescape(r"\x").is_err() && unescape(r"\u12").is_err());
        assert!(unescape(r"\ud83d").is_err());
    }
}
