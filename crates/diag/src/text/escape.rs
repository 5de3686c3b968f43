//! Escapes in texts: a letter after a backslash, or `xHH`.

use super::Cursor;

/// Letters after a backslash, and the characters they denote.
pub const LETTERS: &[(u8, char)] =
    &[(b'n', '\n'), (b'r', '\r'), (b't', '\t'), (b'"', '"'), (b'\\', '\\')];

/// Why something is no escape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadEscape {
    /// The text ends.
    End,
    /// `x` without two hexadecimal digits.
    Digits,
    /// The character is no escape.
    Letter(char),
}

/// Reads an escape, whose backslash has been read: one of `letters`, or `x` with two hexadecimal
/// digits, the number of a character. An invalid escape is not read.
///
/// # Errors
/// Why it is none.
pub fn escape(cursor: &mut Cursor<'_>, letters: &[(u8, char)]) -> Result<char, BadEscape> {
    let first = cursor.peek_char().ok_or(BadEscape::End)?;
    if let Some((_, meaning)) = letters.iter().find(|(letter, _)| char::from(*letter) == first) {
        cursor.skip(1);
        return Ok(*meaning);
    }
    if first != 'x' {
        return Err(BadEscape::Letter(first));
    }
    let digit = |ahead| char::from(cursor.peek(ahead)).to_digit(16).ok_or(BadEscape::Digits);
    let code = digit(1)? << 4 | digit(2)?;
    cursor.skip(3);
    char::from_u32(code).ok_or(BadEscape::Digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_letters_or_numbers() {
        let read = |text| {
            let mut cursor = Cursor::new(text);
            (escape(&mut cursor, LETTERS), cursor.rest())
        };
        assert_eq!(read("n1"), (Ok('\n'), "1"));
        assert_eq!(read("xe9f"), (Ok('é'), "f"));
        assert_eq!(read("x+4"), (Err(BadEscape::Digits), "x+4"));
        assert_eq!(read("xf"), (Err(BadEscape::Digits), "xf"));
        assert_eq!(read("é"), (Err(BadEscape::Letter('é')), "é"));
        assert_eq!(read(""), (Err(BadEscape::End), ""));
    }
}
