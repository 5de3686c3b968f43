//! Escapes of C in strings and bytes, in `.proto` texts, descriptors and the text format.

use tidemill_diag::text::Cursor;

/// The dialects of escapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// `.proto` texts and descriptors: octal numbers are truncated to eight bits, and a pair of
    /// surrogates is one character.
    Schema,
    /// The text format: both are errors.
    Text,
}

/// A malformed escape: its range, and its error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadEscape {
    /// First byte.
    pub(crate) start: usize,
    /// One past its last byte.
    pub(crate) end: usize,
    /// The error.
    pub(crate) what: &'static str,
}

/// Appends bytes as C would write them: what is not printable by octal number.
pub(crate) fn escape_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        match byte {
            0x20..=0x7e if !matches!(byte, b'"' | b'\'' | b'\\') => out.push(byte),
            _ => escape_byte(out, byte),
        }
    }
}

/// The same, but characters beyond ASCII stay.
pub(crate) fn escape_text(out: &mut Vec<u8>, text: &str) {
    for &byte in text.as_bytes() {
        match byte {
            0x20..=0xff if !matches!(byte, b'"' | b'\'' | b'\\' | 0x7f) => out.push(byte),
            _ => escape_byte(out, byte),
        }
    }
}

#[cold]
fn escape_byte(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        b'"' | b'\'' | b'\\' => byte,
        _ => {
            let digits = [byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| b'0' + digit);
            out.push(b'\\');
            out.extend_from_slice(&digits);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// Appends the inside of a string, unescaped.
pub(crate) fn unescape(out: &mut Vec<u8>, text: &str, dialect: Dialect) -> Result<(), BadEscape> {
    let mut cursor = Cursor::new(text);
    loop {
        out.extend_from_slice(cursor.take_while(|byte| byte != b'\\').as_bytes());
        if cursor.is_at_end() {
            return Ok(());
        }
        let start = cursor.at();
        cursor.skip(1);
        escaped(out, &mut cursor, dialect).map_err(|what| BadEscape {
            start,
            end: cursor.at(),
            what,
        })?;
    }
}

/// Reads an escape, whose backslash has been read.
fn escaped(
    out: &mut Vec<u8>,
    cursor: &mut Cursor<'_>,
    dialect: Dialect,
) -> Result<(), &'static str> {
    let kind = cursor.peek_char().ok_or("nothing is escaped")?;
    if kind.is_digit(8) {
        let (value, _) = number(cursor, 8, 3);
        match u8::try_from(value) {
            Err(_) if dialect == Dialect::Text => return Err("the octal number is above 255"),
            _ => out.push(value as u8),
        }
        return Ok(());
    }
    cursor.skip(kind.len_utf8());
    out.push(match kind {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '?' => kind as u8,
        'x' | 'X' => match number(cursor, 16, 2) {
            (_, 0) => return Err("hexadecimal digits are missing"),
            (value, _) => value as u8,
        },
        'u' | 'U' => {
            let c = character(cursor, if kind == 'u' { 4 } else { 8 }, dialect)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(());
        }
        _ => return Err("there is no such escape"),
    });
    Ok(())
}

/// Reads `digits` digits as a character.
fn character(
    cursor: &mut Cursor<'_>,
    digits: usize,
    dialect: Dialect,
) -> Result<char, &'static str> {
    let (mut value, count) = number(cursor, 16, digits);
    if count < digits {
        return Err("hexadecimal digits are missing");
    }
    let mut ahead = *cursor;
    if dialect == Dialect::Schema && (0xD800..0xDC00).contains(&value) && ahead.eat("\\u") {
        let (low, count) = number(&mut ahead, 16, 4);
        if count == 4 && (0xDC00..0xE000).contains(&low) {
            value = 0x10000 + ((value - 0xD800) << 10 | (low - 0xDC00));
            *cursor = ahead;
        }
    }
    char::from_u32(value).ok_or("there is no such character")
}

/// Reads at most `digits_max` digits; their value, which fits, and how many there are.
fn number(cursor: &mut Cursor<'_>, radix: u32, digits_max: usize) -> (u32, usize) {
    let (mut value, mut count) = (0, 0);
    while count < digits_max
        && let Some(digit) = char::from(cursor.peek(0)).to_digit(radix)
    {
        value = value * radix + digit;
        count += 1;
        cursor.skip(1);
    }
    (value, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, dialect: Dialect) -> Result<Vec<u8>, BadEscape> {
        let mut out = Vec::new();
        unescape(&mut out, text, dialect).map(|()| out)
    }

    #[test]
    fn escapes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        let mut text = Vec::new();
        escape_bytes(&mut text, &all);
        let text = String::from_utf8(text).unwrap();
        for dialect in [Dialect::Schema, Dialect::Text] {
            assert_eq!(read(&text, dialect), Ok(all.clone()));
            let text = r"\a\b\f\v\?\x4\x41\101\u00e9\U0001F600";
            let expected = "\u{7}\u{8}\u{c}\u{b}?\u{4}AAé\u{1f600}";
            assert_eq!(read(text, dialect), Ok(expected.into()));
            let bad = read(r"a\q", dialect).unwrap_err();
            assert_eq!((bad.start, bad.end), (1, 3));
            for bad in [r"\", r"\x", r"\u12", r"\ud83d", r"\U00110000", r"\8", r"\é"] {
                assert!(read(bad, dialect).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn dialects_differ() {
        assert_eq!(read(r"\ud83d\ude00", Dialect::Schema), Ok("\u{1f600}".into()));
        assert!(read(r"\ud83d\ude00", Dialect::Text).is_err());
        assert_eq!(read(r"\401", Dialect::Schema), Ok(vec![1]));
        assert!(read(r"\401", Dialect::Text).is_err());
    }
}
