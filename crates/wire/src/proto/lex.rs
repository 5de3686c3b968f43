//! Words, numbers, strings and signs of a `.proto` text.

use crate::schema::problem::{Part, Place, Problem};
use crate::schema::{FileId, uninterpreted::TextRange};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
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

/// A token and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Token {
    pub(super) fn range(self) -> TextRange {
        (self.start, self.end)
    }
}

/// Texts may be that long, so that places fit.
pub(super) const BYTES_MAX: usize = 1 << 30;

/// What a byte begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    /// A letter or underscore.
    Letter,
    Digit,
    /// A character that is a token by itself.
    Sign,
    /// What takes a closer look.
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

/// Whether a byte stands in words.
#[inline]
fn in_word(byte: u8) -> bool {
    matches!(class(byte), Class::Letter | Class::Digit)
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    file: FileId,
    problems: &'a mut Vec<Problem>,
}

/// The tokens of a text, the last of which is [`Kind::End`]; what is no token is reported and
/// left out.
pub(super) fn lex(text: &str, file: FileId, problems: &mut Vec<Problem>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 5);
    lex_into(&mut tokens, text, file, problems);
    tokens
}

/// Likewise, in place of what `tokens` held.
pub(super) fn lex_into(
    tokens: &mut Vec<Token>,
    text: &str,
    file: FileId,
    problems: &mut Vec<Problem>,
) {
    tokens.clear();
    // A mark of byte order may stand in front.
    let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut lexer = Lexer { text: text.as_bytes(), at, file, problems };
    while let Some(&first) = lexer.text.get(lexer.at) {
        let start = lexer.at;
        let kind = match class(first) {
            Class::Blank => {
                lexer.at += 1;
                continue;
            }
            Class::Letter => {
                lexer.skip_while(in_word);
                Kind::Word
            }
            Class::Digit if first != b'0' => lexer.decimal(),
            Class::Sign => {
                lexer.at += 1;
                Kind::Sign(first)
            }
            _ => match lexer.other(first) {
                Some(kind) => kind,
                None => continue,
            },
        };
        tokens.push(Token { kind, start: start as u32, end: lexer.at as u32 });
    }
    let end = text.len() as u32;
    tokens.push(Token { kind: Kind::End, start: end, end });
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn report(&mut self, start: usize, end: usize, message: &str) {
        let part = Part::Range(start as u32, end as u32);
        let at = (self.file, Place::NONE, part);
        self.problems.push(Problem::error("bad-token", at, message));
    }

    #[inline]
    fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        let mut at = self.at;
        while self.text.get(at).is_some_and(|&byte| test(byte)) {
            at += 1;
        }
        self.at = at;
    }

    fn block_comment(&mut self) {
        let start = self.at;
        self.at += 2;
        match self.text[self.at..].windows(2).position(|two| two == b"*/") {
            Some(length) => {
                let inside = &self.text[self.at..=self.at + length];
                if let Some(at) = inside.windows(2).position(|two| two == b"/*") {
                    let at = self.at + at;
                    self.report(at, at + 2, "comments do not nest");
                }
                self.at += length + 2;
            }
            None => {
                self.at = self.text.len();
                self.report(start, start + 2, "this comment does not end");
            }
        }
    }

    /// The token that begins with what is no letter and no plain sign; `None` after a comment, and
    /// after what is no token.
    fn other(&mut self, first: u8) -> Option<Kind> {
        let start = self.at;
        match first {
            b'/' if self.peek(1) == b'/' => {
                self.skip_while(|b| b != b'\n');
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
                self.at += 1;
                Some(Kind::Sign(first))
            }
            _ => {
                self.at += 1;
                // The rest of a character that is longer than a byte.
                self.skip_while(|b| b & 0xC0 == 0x80);
                self.report(start, self.at, "this character means nothing here");
                None
            }
        }
    }

    /// A number that does not begin with 0: mostly that of a field, a few digits and no more.
    #[inline]
    fn decimal(&mut self) -> Kind {
        let start = self.at;
        self.skip_while(|b| b.is_ascii_digit());
        let next = self.peek(0);
        if !in_word(next) && next != b'.' {
            return Kind::Integer;
        }
        self.at = start;
        self.number()
    }

    fn number(&mut self) -> Kind {
        let start = self.at;
        let mut kind = Kind::Integer;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X') {
            self.at += 2;
            let digits = self.at;
            self.skip_while(|b| b.is_ascii_hexdigit());
            if self.at == digits {
                self.report(start, self.at, "hexadecimal digits are missing");
            }
        } else {
            self.skip_while(|b| b.is_ascii_digit());
            if self.peek(0) == b'.' {
                kind = Kind::Float;
                self.at += 1;
                self.skip_while(|b| b.is_ascii_digit());
            }
            if matches!(self.peek(0), b'e' | b'E') {
                kind = Kind::Float;
                self.at += 1;
                if matches!(self.peek(0), b'+' | b'-') {
                    self.at += 1;
                }
                let digits = self.at;
                self.skip_while(|b| b.is_ascii_digit());
                if self.at == digits {
                    self.report(start, self.at, "the exponent has no digits");
                }
            }
            let octal = kind == Kind::Integer && self.at > start + 1 && self.text[start] == b'0';
            if octal && self.text[start..self.at].iter().any(|&b| b > b'7') {
                let message = "a number that begins with 0 is octal: it has no 8 and no 9";
                self.report(start, self.at, message);
            }
        }
        if self.peek(0).is_ascii_alphabetic() || matches!(self.peek(0), b'_' | b'.') {
            let before = self.at;
            self.skip_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
            self.report(before, self.at, "a number ends here; put a blank before the next word");
        }
        kind
    }

    fn string(&mut self, quote: u8) -> Kind {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                _ if self.at >= self.text.len() => {
                    self.report(start, self.at, "this string does not end");
                    break;
                }
                b'\n' => {
                    self.report(start, self.at, "this string does not end on its line");
                    break;
                }
                b'\\' => self.at = (self.at + 2).min(self.text.len()),
                b if b == quote => {
                    self.at += 1;
                    break;
                }
                _ => self.at += 1,
            }
        }
        Kind::String
    }
}

/// The value of an integer token; `None` if it does not fit.
pub(super) fn integer(text: &str) -> Option<u64> {
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&text[2..], 16).ok(),
        [b'0', _, ..] => u64::from_str_radix(&text[1..], 8).ok(),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> (Vec<Kind>, usize) {
        let mut problems = Vec::new();
        let tokens = lex(text, FileId::default(), &mut problems);
        (tokens.into_iter().map(|token| token.kind).collect(), problems.len())
    }

    #[test]
    fn tokens_are_told_apart() {
        use Kind::*;
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
