//! Values that are only looked at: they are passed over, and nothing is made of them.
//!
//! It finds the same errors as the reader of values, at the same positions.

use super::error::Fault;
use super::lex::{Lex, Lexer};
use super::number::Number;
use super::{digits, scan};

/// Numbers with fewer digits are never too large for a double.
const LONG: usize = 300;

/// Checks a number whose value is not needed, if it may be out of range: with an exponent, or
/// [`LONG`] digits.
pub(crate) trait Looks {
    /// # Errors
    /// It cannot be what it should be.
    fn number(&self, number: Number<'_>, at: usize) -> Lex;
}

/// Accepts any number.
pub(crate) struct Loosely;

impl Looks for Loosely {
    #[inline]
    fn number(&self, _: Number<'_>, _: usize) -> Lex {
        Ok(())
    }
}

/// Skips values, with the place in a register.
struct Check<'k, 'a, L> {
    lexer: &'k mut Lexer<'a>,
    bytes: &'a [u8],
    looks: L,
}

impl<'a> Lexer<'a> {
    /// Skips a value that nests at most `depth` deep.
    pub(crate) fn skip(&mut self, depth: usize, looks: impl Looks) -> Lex {
        let (start, bytes) = (self.at, self.text.as_bytes());
        self.at = Check { lexer: self, bytes, looks }.value(start, depth)?;
        Ok(())
    }
}

impl<L: Looks> Check<'_, '_, L> {
    /// The next byte that is no blank, 0 at the end, and where it is.
    #[inline(always)]
    fn peek(&mut self, at: usize) -> (u8, usize) {
        match self.bytes.get(at) {
            Some(&byte) if byte > b' ' => (byte, at),
            _ => self.peek_after_blanks(at),
        }
    }

    #[inline(never)]
    fn peek_after_blanks(&mut self, at: usize) -> (u8, usize) {
        self.lexer.at = at;
        (self.lexer.peek(), self.lexer.at)
    }

    /// The error that something else was expected at a place.
    #[cold]
    fn expected(&mut self, at: usize, what: &str) -> Fault {
        self.lexer.at = at;
        self.lexer.expected(what)
    }

    /// Skips a value; returns its end.
    #[inline(always)]
    fn value(&mut self, at: usize, depth: usize) -> Lex<usize> {
        let (byte, at) = self.peek(at);
        match byte {
            b'"' => self.string(at),
            b'-' | b'0'..=b'9' => self.number(at),
            b'{' | b'[' if depth == 0 => Err(Fault::new(at, "values nest too deep")),
            b'{' => self.object(at + 1, depth - 1),
            b'[' => self.array(at + 1, depth - 1),
            _ => self.word(at),
        }
    }

    /// Skips a number. One that cannot be out of range is not parsed.
    #[inline(always)]
    fn number(&mut self, at: usize) -> Lex<usize> {
        let byte = |at| self.bytes.get(at).copied().unwrap_or(0);
        let first = at + usize::from(byte(at) == b'-');
        let mut end = digits::end(self.bytes, first);
        let mut right = end == first + 1 || end > first && byte(first) != b'0';
        if byte(end) == b'.' {
            let fraction = end + 1;
            end = digits::end(self.bytes, fraction);
            right &= end > fraction;
        }
        if right && !matches!(byte(end), b'e' | b'E') && end - first < LONG {
            Ok(end)
        } else {
            self.odd_number(at)
        }
    }

    #[inline(never)]
    fn odd_number(&mut self, at: usize) -> Lex<usize> {
        match Number::read(self.lexer.text, at) {
            Ok(number) => self.looks.number(number, at).map(|()| number.end()),
            Err(bad) => Err(bad.fault()),
        }
    }

    #[inline]
    fn word(&mut self, at: usize) -> Lex<usize> {
        let word: &[u8] = match self.bytes.get(at) {
            Some(b't') => b"true",
            Some(b'f') => b"false",
            _ => b"null",
        };
        if self.bytes.get(at..).is_some_and(|rest| rest.starts_with(word)) {
            Ok(at + word.len())
        } else {
            Err(self.expected(at, "a value"))
        }
    }

    fn object(&mut self, at: usize, depth: usize) -> Lex<usize> {
        let (byte, mut at) = self.peek(at);
        if byte == b'}' {
            return Ok(at + 1);
        }
        loop {
            let (byte, key) = self.peek(at);
            if byte != b'"' {
                return Err(self.expected(key, "a string"));
            }
            let end = self.string(key)?;
            let (byte, colon) = self.peek(end);
            if byte != b':' {
                return Err(self.expected(colon, "`:`"));
            }
            at = self.value(colon + 1, depth)?;
            let (byte, end) = self.peek(at);
            match byte {
                b',' => at = end + 1,
                b'}' => return Ok(end + 1),
                _ => return Err(self.expected(end, "`,` or `}`")),
            }
        }
    }

    fn array(&mut self, at: usize, depth: usize) -> Lex<usize> {
        let (byte, mut at) = self.peek(at);
        if byte == b']' {
            return Ok(at + 1);
        }
        loop {
            at = self.value(at, depth)?;
            let (byte, end) = self.peek(at);
            match byte {
                b',' => at = end + 1,
                b']' => return Ok(end + 1),
                _ => return Err(self.expected(end, "`,` or `]`")),
            }
        }
    }

    /// Skips the string that begins at a quote.
    #[inline(always)]
    fn string(&mut self, quote: usize) -> Lex<usize> {
        let start = quote + 1;
        let end = start + scan::plain(self.bytes.get(start..).unwrap_or_default());
        match self.bytes.get(end) {
            Some(b'"') => Ok(end + 1),
            _ => self.string_with_escapes(quote, end),
        }
    }

    #[inline(never)]
    fn string_with_escapes(&mut self, quote: usize, mut end: usize) -> Lex<usize> {
        loop {
            let from = match self.bytes.get(end) {
                Some(b'"') => return Ok(end + 1),
                Some(b'\\') => self.lexer.escape(end)?.1,
                Some(_) => return Err(Fault::new(end, "a control character stands in a string")),
                None => return Err(Fault::new(quote, "a string does not end")),
            };
            end = from + scan::plain(self.bytes.get(from..).unwrap_or_default());
        }
    }
}
