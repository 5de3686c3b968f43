//! Words, numbers, strings and signs of a `.proto` text.

use tidemill_diag::text::number::{radix_of_c, whole};
use tidemill_diag::text::{Block, Cursor, block_comment, is_word, is_word_start};

use crate::schema::problem::{ElementId, Part, Problem};
use crate::schema::{FileId, uninterpreted::TextRange};

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// Letters, digits, underscores.
    Word,
    /// Decimal, hexadecimal or octal.
    Integer,
    /// With a point or an exponent.
    Float,
    /// In quotes of either kind, on one line.
    String,
    /// One character.
    Sign(u8),
    /// The end of the text.
    End,
}

/// A token and its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Token {
    pub(super) fn range(self) -> TextRange {
        (self.start, self.end)
    }
}

/// The maximal length of a text, so that positions fit.
pub(super) const BYTES_MAX: usize = 1 << 30;

/// The class of a byte that begins a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    /// A letter or underscore.
    Letter,
    Digit,
    /// A character that is a token by itself.
    Sign,
    /// Anything that needs more than its first byte.
    Other,
}

static CLASSES: [Class; 256] = {
    let (mut table, mut at) = ([Class::Other; 256], 0);
    while at < table.len() {
        table[at] = match at as u8 {
            b' ' | 0x09..=0x0d => Class::Blank,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'.' | b'/' | b'"' | b'\'' => Class::Other,
            0x21..0x7f => Class::Sign,
            _ => Class::Other,
        };
        at += 1;
    }
    table
};

#[inline]
fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

/// True if a byte may be part of a word.
#[inline]
fn in_word(byte: u8) -> bool {
    matches!(class(byte), Class::Letter | Class::Digit)
}

struct Lexer<'a> {
    cursor: Cursor<'a>,
    file: FileId,
    problems: &'a mut Vec<Problem>,
}

/// The tokens of a text, the last of which is [`TokenKind::End`]; anything else is reported and
/// left out.
pub(super) fn lex(text: &str, file: FileId, problems: &mut Vec<Problem>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 5);
    lex_into(&mut tokens, text, file, problems);
    tokens
}

/// As [`lex`], replacing the contents of `tokens`.
pub(super) fn lex_into(
    tokens: &mut Vec<Token>,
    text: &str,
    file: FileId,
    problems: &mut Vec<Problem>,
) {
    tokens.clear();
    let mut lexer = Lexer { cursor: Cursor::after_byte_order_mark(text), file, problems };
    while let Some(first) = lexer.cursor.first() {
        let start = lexer.cursor.at();
        let kind = match class(first) {
            Class::Blank => {
                lexer.cursor.skip(1);
                continue;
            }
            Class::Letter => {
                lexer.cursor.skip_while(in_word);
                TokenKind::Word
            }
            Class::Digit if first != b'0' => lexer.decimal(),
            Class::Sign => {
                lexer.cursor.skip(1);
                TokenKind::Sign(first)
            }
            _ => match lexer.other(first) {
                Some(kind) => kind,
                None => continue,
            },
        };
        tokens.push(Token { kind, start: start as u32, end: lexer.cursor.at() as u32 });
    }
    let end = text.len() as u32;
    tokens.push(Token { kind: TokenKind::End, start: end, end });
}

impl Lexer<'_> {
    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.cursor.peek(ahead)
    }

    fn report(&mut self, start: usize, end: usize, message: &str) {
        let part = Part::Range(start as u32, end as u32);
        let at = (self.file, ElementId::NONE, part);
        self.problems.push(Problem::error("bad-token", at, message));
    }

    /// Reports the text from `start` to the cursor.
    fn report_since(&mut self, start: usize, message: &str) {
        self.report(start, self.cursor.at(), message);
    }

    fn block_comment(&mut self) {
        let start = self.cursor.at();
        match block_comment(&mut self.cursor) {
            Block::Closed { nested: None } => {}
            Block::Closed { nested: Some(at) } => {
                self.report(at, at + 2, "comments do not nest");
            }
            Block::Open => self.report(start, start + 2, "this comment does not end"),
        }
    }

    /// The token that begins with neither a letter nor a plain sign; `None` after a comment, and
    /// after an invalid character.
    fn other(&mut self, first: u8) -> Option<TokenKind> {
        let start = self.cursor.at();
        match first {
            b'/' if self.peek(1) == b'/' => {
                self.cursor.skip_line();
                None
            }
            b'/' if self.peek(1) == b'*' => {
                self.block_comment();
                None
            }
            b'0' => Some(self.number()),
            b'.' if self.peek(1).is_ascii_digit() => Some(self.number()),
            b'"' | b'\'' => Some(self.string(first)),
            b'.' | b'/' => {
                self.cursor.skip(1);
                Some(TokenKind::Sign(first))
            }
            _ => {
                self.cursor.next_char();
                self.report_since(start, "this character means nothing here");
                None
            }
        }
    }

    /// A number that does not begin with 0: mostly a field number of a few digits.
    #[inline]
    fn decimal(&mut self) -> TokenKind {
        let before = self.cursor;
        self.cursor.skip_while(|b| b.is_ascii_digit());
        let next = self.peek(0);
        if !in_word(next) && next != b'.' {
            return TokenKind::Integer;
        }
        self.cursor = before;
        self.number()
    }

    fn number(&mut self) -> TokenKind {
        let start = self.cursor.at();
        let mut kind = TokenKind::Integer;
        if self.cursor.eat("0x") || self.cursor.eat("0X") {
            if self.cursor.take_while(|b| b.is_ascii_hexdigit()).is_empty() {
                self.report_since(start, "hexadecimal digits are missing");
            }
        } else {
            self.cursor.digits();
            if self.cursor.eat(".") {
                kind = TokenKind::Float;
                self.cursor.digits();
            }
            if self.cursor.eat_one_of(b"eE") {
                kind = TokenKind::Float;
                self.cursor.eat_one_of(b"+-");
                if self.cursor.digits().is_empty() {
                    self.report_since(start, "the exponent has no digits");
                }
            }
            let text = self.cursor.since(start);
            if kind == TokenKind::Integer && text.starts_with('0') && text.contains(['8', '9']) {
                let message = "a number that begins with 0 is octal: it has no 8 and no 9";
                self.report_since(start, message);
            }
        }
        if is_word_start(self.peek(0)) || self.peek(0) == b'.' {
            let before = self.cursor.at();
            self.cursor.skip_while(|b| is_word(b) || b == b'.');
            self.report_since(before, "a number ends here; put a blank before the next word");
        }
        kind
    }

    fn string(&mut self, quote: u8) -> TokenKind {
        let start = self.cursor.at();
        self.cursor.skip(1);
        loop {
            self.cursor.skip_while(|b| b != quote && !matches!(b, b'\n' | b'\\'));
            match self.cursor.first() {
                None => {
                    self.report_since(start, "this string does not end");
                    break;
                }
                Some(b'\n') => {
                    self.report_since(start, "this string does not end on its line");
                    break;
                }
                Some(b'\\') => {
                    self.cursor.skip(1);
                    self.cursor.next_char();
                }
                Some(_) => {
                    self.cursor.skip(1);
                    break;
                }
            }
        }
        TokenKind::String
    }
}

/// The value of an integer token; `None` if it does not fit.
pub(super) fn integer(text: &str) -> Option<u64> {
    let (digits, radix) = radix_of_c(text);
    whole(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> (Vec<TokenKind>, usize) {
        let mut problems = Vec::new();
        let tokens = lex(text, FileId::default(), &mut problems);
        (tokens.into_iter().map(|token| token.kind).collect(), problems.len())
    }

    #[test]
    fn tokens_have_kinds() {
        use TokenKind::*;
        let (found, problems) = kinds("\u{feff}a_1 /* x */ 0x1F 1.e-5 .5 'it\\'s' // end\n=");
        assert_eq!(found, [Word, Integer, Float, Float, String, Sign(b'='), End]);
        assert_eq!(problems, 0);
        for bad in ["/* x", "'x", "'x\ny", "0x", "1e", "089", "1a", "é", "\u{1}"] {
            assert_eq!(kinds(bad).1, 1, "{bad}");
        }
    }

    #[test]
    fn integers_have_three_bases() {
        assert_eq!([integer("10"), integer("0x10"), integer("010")], [Some(10), Some(16), Some(8)]);
        assert_eq!(integer("18446744073709551615"), Some(u64::MAX));
        assert_eq!([integer("18446744073709551616"), integer("08"), integer("0x")], [None; 3]);
    }
}
