//! The words of JSON: blanks, strings, numbers, literals. The text is known to be UTF-8.

use tidemill_stdx::region::Bump;

use super::error::Fault;
use super::number::Number;
use super::{digits, scan};

pub(crate) type Lex<T = ()> = Result<T, Fault>;

/// The character that a letter after a backslash denotes; 0 where it alone denotes none.
const LETTERS: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 0x08;
    table[b'f' as usize] = 0x0c;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

/// A place in a text.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    /// Holds the unescaped forms of strings with escapes.
    pub(crate) arena: &'a Bump,
    /// A string that is being unescaped.
    plain: Vec<u8>,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str, arena: &'a Bump) -> Lexer<'a> {
        Lexer { text, at: 0, arena, plain: Vec::new() }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no blank; 0 at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        match self.byte() {
            Some(byte) if byte > b' ' => byte,
            _ => self.peek_after_blanks(),
        }
    }

    #[inline(never)]
    fn peek_after_blanks(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(&byte) => return byte,
                None => return 0,
            }
            // Indented texts have many blanks in a row.
            while let Some(block) = bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>())
                && *block == [b' '; 8]
            {
                self.at += 8;
            }
        }
    }

    /// True at the end of the text.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.peek() == 0 && self.at == self.text.len()
    }

    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    #[inline(always)]
    pub(crate) fn expect(&mut self, byte: u8) -> Lex {
        if self.byte() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.expect_after_blanks(byte)
    }

    #[inline(never)]
    fn expect_after_blanks(&mut self, byte: u8) -> Lex {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{}`", char::from(byte))))
        }
    }

    /// The error that something else was expected here.
    #[cold]
    pub(crate) fn expected(&mut self, what: &str) -> Fault {
        self.peek();
        let found = match self.text[self.at..].chars().next() {
            None => "the end of the text".to_owned(),
            Some(c) if c.is_control() => format!("{c:?}"),
            Some(c) => format!("`{c}`"),
        };
        Fault::new(self.at, format!("{what} is expected, not {found}"))
    }

    /// After an element: true if another follows, false if `end` does.
    #[inline(always)]
    pub(crate) fn more(&mut self, end: u8) -> Lex<bool> {
        match self.byte() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            _ => self.more_after_blanks(end),
        }
    }

    #[inline(never)]
    fn more_after_blanks(&mut self, end: u8) -> Lex<bool> {
        match self.peek() {
            b',' => {
                self.at += 1;
                Ok(true)
            }
            byte if byte == end => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.expected(&format!("`,` or `{}`", char::from(end)))),
        }
    }

    /// A string, without its quotes and escapes.
    #[inline]
    pub(crate) fn string(&mut self) -> Lex<&'a str> {
        if self.peek() != b'"' {
            return Err(self.expected("a string"));
        }
        let start = self.at + 1;
        let end = start + scan::plain(&self.text.as_bytes()[start..]);
        if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            // SAFETY: both ends are beside quotes, so between characters, and inside of the text.
            return Ok(unsafe { self.text.get_unchecked(start..end) });
        }
        self.string_with_escapes(start, end)
    }

    #[inline(never)]
    fn string_with_escapes(&mut self, start: usize, mut end: usize) -> Lex<&'a str> {
        let bytes = self.text.as_bytes();
        self.plain.clear();
        let mut from = start;
        loop {
            scan::push(&mut self.plain, &bytes[from..end]);
            match bytes.get(end) {
                Some(b'"') => {
                    self.at = end + 1;
                    let plain = self.arena.alloc_bytes(&self.plain);
                    // SAFETY: parts of a text, cut before quotes and backslashes and so between
                    // characters, and whole characters.
                    return Ok(unsafe { std::str::from_utf8_unchecked(plain) });
                }
                Some(b'\\') => {
                    let (c, after) = self.escape(end)?;
                    match u8::try_from(c) {
                        Ok(byte) if byte < 0x80 => self.plain.push(byte),
                        _ => self.plain.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    }
                    from = after;
                }
                Some(_) => return Err(Fault::new(end, "a control character stands in a string")),
                None => return Err(Fault::new(start - 1, "a string does not end")),
            }
            end = from + scan::plain(&bytes[from..]);
        }
    }

    /// The character of the escape at `at`, and where the escape ends.
    #[inline]
    pub(super) fn escape(&self, at: usize) -> Lex<(char, usize)> {
        let letter = self.text.as_bytes().get(at + 1).copied().unwrap_or(0);
        match LETTERS[usize::from(letter)] {
            0 if letter == b'u' => self.unicode(at),
            0 => Err(Fault::new(at, "there is no such escape")),
            byte => Ok((char::from(byte), at + 2)),
        }
    }

    /// `\uXXXX`, or two of them for characters that need it.
    fn unicode(&self, at: usize) -> Lex<(char, usize)> {
        let high = self.hex(at + 2)?;
        let lone = || Fault::new(at, "half of a surrogate pair stands alone");
        if !(0xd800..0xe000).contains(&high) {
            return Ok((char::from_u32(high).ok_or_else(lone)?, at + 6));
        }
        let pair = self.text.as_bytes().get(at + 6..at + 8) == Some(b"\\u");
        if high >= 0xdc00 || !pair {
            return Err(lone());
        }
        let low = self.hex(at + 8)?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(lone());
        }
        let code = 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
        Ok((char::from_u32(code).ok_or_else(lone)?, at + 12))
    }

    fn hex(&self, at: usize) -> Lex<u32> {
        let digits = self.text.as_bytes().get(at..at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| Fault::new(at - 2, "an escape needs four hexadecimal digits"))
    }

    /// An integer of few digits, bare or in quotes, without fraction and exponent. Anything else is
    /// not read.
    #[inline]
    pub(crate) fn short_integer(&mut self) -> Option<i64> {
        const DIGITS_MAX: usize = 18;
        let quoted = self.peek() == b'"';
        let bytes = self.text.as_bytes();
        let start = self.at + usize::from(quoted);
        let negative = bytes.get(start) == Some(&b'-');
        let first = start + usize::from(negative);
        let (amount, end) = digits::read(bytes, first, 0);
        let count = end - first;
        if count == 0 || count > DIGITS_MAX || bytes[first] == b'0' && (count > 1 || negative) {
            return None;
        }
        let next = bytes.get(end).copied().unwrap_or(0);
        if quoted && next != b'"' || matches!(next, b'.' | b'e' | b'E') {
            return None;
        }
        self.at = end + usize::from(quoted);
        let value = amount as i64;
        Some(if negative { -value } else { value })
    }

    /// A number.
    #[inline]
    pub(crate) fn number(&mut self) -> Lex<Number<'a>> {
        self.peek();
        match Number::read(self.text, self.at) {
            Ok(number) => {
                self.at = number.end();
                Ok(number)
            }
            Err(bad) => Err(bad.fault()),
        }
    }

    /// A word: `true`, `false`, `null`.
    #[inline]
    pub(crate) fn literal(&mut self, word: &'static str) -> Lex {
        self.peek();
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.expected("a value"))
        }
    }

    /// `true` or `false`.
    #[inline]
    pub(crate) fn truth(&mut self) -> Lex<bool> {
        match self.peek() {
            b't' => self.literal("true").map(|()| true),
            b'f' => self.literal("false").map(|()| false),
            _ => Err(self.expected("true or false")),
        }
    }
}
