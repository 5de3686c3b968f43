//! The lexer of the text format.

use tidemill_diag::text::{Cursor, is_blank};
use tidemill_stdx::region::Bump;

use crate::escape::{self, Dialect};
use crate::json::Fault;

pub(super) type Lex<T = ()> = Result<T, Fault>;

/// A position in a text that is valid UTF-8.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) arena: &'a Bump,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, arena: &'a Bump) -> Lexer<'a> {
        Lexer { cursor: Cursor::new(text), arena }
    }

    /// The position in bytes.
    pub(super) fn at(&self) -> usize {
        self.cursor.at()
    }

    /// Skips blanks and comments, and returns the next byte; 0 at the end.
    pub(super) fn peek(&mut self) -> u8 {
        loop {
            match self.cursor.peek(0) {
                byte if is_blank(byte) => self.cursor.skip(1),
                b'#' => self.cursor.skip_line(),
                byte => return byte,
            }
        }
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek() == 0 && self.cursor.is_at_end()
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.cursor.skip(usize::from(there));
        there
    }

    pub(super) fn expect(&mut self, byte: u8) -> Lex {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{}`", char::from(byte))))
        }
    }

    #[cold]
    pub(super) fn expected(&mut self, what: &str) -> Fault {
        self.peek();
        let found = match self.cursor.peek_char() {
            None => "the end of the text".to_owned(),
            Some(c) => format!("`{}`", c.escape_default()),
        };
        Fault::new(self.at(), format!("{what} is expected, not {found}"))
    }

    /// Letters, digits and underscores that begin with no digit; `None` at anything else.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        self.peek();
        let word = self.cursor.word();
        (!word.is_empty()).then_some(word)
    }

    /// A number without its sign, in any form; the caller checks it against the type.
    pub(super) fn number(&mut self) -> Lex<&'a str> {
        let first = self.peek();
        if first.is_ascii_digit() || first == b'.' && self.cursor.peek(1).is_ascii_digit() {
            return Ok(self.cursor.number_like());
        }
        Err(self.expected("a number"))
    }

    /// True if a string begins here.
    pub(super) fn is_at_string(&mut self) -> bool {
        matches!(self.peek(), b'"' | b'\'')
    }

    /// Adjacent strings, joined, without quotes and escapes.
    pub(super) fn strings(&mut self) -> Lex<&'a [u8]> {
        let first = self.string()?;
        if !self.is_at_string() && !first.1.contains('\\') {
            return Ok(first.1.as_bytes());
        }
        let mut out = Vec::new();
        unescape(&mut out, first)?;
        while self.is_at_string() {
            unescape(&mut out, self.string()?)?;
        }
        Ok(self.arena.alloc_bytes(&out))
    }

    /// The contents of one string, with its escapes, and its start.
    fn string(&mut self) -> Lex<(usize, &'a str)> {
        if !self.is_at_string() {
            return Err(self.expected("a string"));
        }
        let (open, quote) = (self.at(), self.cursor.peek(0));
        self.cursor.skip(1);
        let start = self.at();
        loop {
            self.cursor.skip_while(|byte| byte != quote && !matches!(byte, b'\n' | 0 | b'\\'));
            match self.cursor.first() {
                Some(byte) if byte == quote => break,
                Some(b'\\') => {
                    self.cursor.skip(1);
                    self.cursor.next_char();
                }
                Some(_) => return Err(Fault::new(self.at(), "a string ends with its line")),
                None => return Err(Fault::new(open, "a string does not end")),
            }
        }
        let inside = self.cursor.since(start);
        self.cursor.skip(1);
        Ok((start, inside))
    }
}

fn unescape(out: &mut Vec<u8>, (start, inside): (usize, &str)) -> Lex {
    let read = escape::unescape(out, inside, Dialect::Text);
    read.map_err(|bad| Fault::new(start + bad.start, bad.what))
}
