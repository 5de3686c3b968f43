//! The words of the text format.

use tidemill_stdx::region::Bump;

use super::literal;
use crate::json::Fault;

pub(super) type Lex<T = ()> = Result<T, Fault>;

/// A place in a text that is known to be UTF-8.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) arena: &'a Bump,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, arena: &'a Bump) -> Lexer<'a> {
        Lexer { text, at: 0, arena }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// The next byte that is no blank and no comment; 0 at the end.
    pub(super) fn peek(&mut self) -> u8 {
        loop {
            match self.bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b'#') => {
                    let rest = &self.bytes()[self.at..];
                    let line = rest.iter().position(|&byte| byte == b'\n');
                    self.at += line.unwrap_or(rest.len());
                }
                Some(&byte) => return byte,
                None => return 0,
            }
        }
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek() == 0 && self.at == self.text.len()
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, byte: u8) -> Lex {
        match self.take(byte) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{}`", char::from(byte)))),
        }
    }

    #[cold]
    pub(super) fn expected(&mut self, what: &str) -> Fault {
        self.peek();
        let found = match self.text[self.at..].chars().next() {
            None => "the end of the text".to_owned(),
            Some(c) => format!("`{}`", c.escape_default()),
        };
        Fault::new(self.at, format!("{what} is expected, not {found}"))
    }

    /// Letters, digits and underscores that begin with no digit; none if there is something else.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let first = self.peek();
        if !first.is_ascii_alphabetic() && first != b'_' {
            return None;
        }
        let rest = &self.bytes()[self.at..];
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let length = rest.iter().take_while(is_part).count();
        let word = &self.text[self.at..self.at + length];
        self.at += length;
        Some(word)
    }

    /// A number without its sign, whatever its form; checked by who knows the type.
    pub(super) fn number(&mut self) -> Lex<&'a str> {
        let first = self.peek();
        let second = self.bytes().get(self.at + 1).copied().unwrap_or(0);
        let starts = first.is_ascii_digit() || first == b'.' && second.is_ascii_digit();
        if !starts {
            return Err(self.expected("a number"));
        }
        let start = self.at;
        let hexadecimal = first == b'0' && matches!(second, b'x' | b'X');
        while let Some(&byte) = self.bytes().get(self.at) {
            let before = self.bytes()[self.at - usize::from(self.at > start)];
            let after_exponent = !hexadecimal && matches!(before, b'e' | b'E');
            let is_sign = matches!(byte, b'+' | b'-') && after_exponent;
            if !byte.is_ascii_alphanumeric() && !matches!(byte, b'.' | b'_') && !is_sign {
                break;
            }
            self.at += 1;
        }
        Ok(&self.text[start..self.at])
    }

    /// True if a string begins here.
    pub(super) fn is_at_string(&mut self) -> bool {
        matches!(self.peek(), b'"' | b'\'')
    }

    /// Strings one after the other, as one, without quotes and escapes.
    pub(super) fn strings(&mut self) -> Lex<&'a [u8]> {
        let first = self.string()?;
        if !self.is_at_string() && !first.contains(&b'\\') {
            return Ok(first);
        }
        let mut out = Vec::new();
        self.unescape(&mut out, first)?;
        while self.is_at_string() {
            let next = self.string()?;
            self.unescape(&mut out, next)?;
        }
        Ok(self.arena.alloc_bytes(&out))
    }

    fn unescape(&self, out: &mut Vec<u8>, inside: &'a [u8]) -> Lex {
        // Between quotes, so between characters.
        let start = inside.as_ptr().addr() - self.text.as_ptr().addr();
        let text = self.text.get(start..start + inside.len()).unwrap_or("");
        literal::unescape(out, text).map_err(|(at, what)| Fault::new(start + at, what))
    }

    /// The inside of one string, with its escapes.
    fn string(&mut self) -> Lex<&'a [u8]> {
        if !self.is_at_string() {
            return Err(self.expected("a string"));
        }
        let quote = self.bytes()[self.at];
        let start = self.at + 1;
        let mut at = start;
        loop {
            match self.bytes().get(at) {
                Some(&byte) if byte == quote => break,
                Some(b'\n' | 0) => return Err(Fault::new(at, "a string ends with its line")),
                Some(b'\\') => at += 2,
                Some(_) => at += 1,
                None => return Err(Fault::new(self.at, "a string does not end")),
            }
        }
        self.at = at + 1;
        Ok(&self.bytes()[start..at])
    }
}
