//! Tokens. Comments are kept apart, for the formatter.

use std::ops::Range;

use tidemill_diag::text::number::{BadNumber, double, whole};
use tidemill_diag::text::{Block, Cursor, LETTERS, block_comment, escape, is_word};
use tidemill_diag::{Diagnostic, FileId, Span};

/// The type of a token.
#[derive(Clone, PartialEq, Debug)]
pub enum TokenKind {
    /// A name: letters, digits, `_`; no digit first.
    Name,
    /// `$NAME`.
    Parameter,
    /// `#include`, `#define` and whatever else begins so.
    Directive,
    /// Digits, or `0x` and hexadecimal ones, perhaps with `_` between and `-` before; of 64 bits,
    /// with a sign or without.
    Integer(i128),
    /// With a point or an exponent.
    Double(f64),
    /// In quotes; here without them and with its escapes replaced.
    Text(String),
    /// `::`
    Is,
    /// `->`
    Arrow,
    /// An operator of two characters, such as `==` and `..`.
    Operator(&'static str),
    /// One of `. , : ; { } [ ] ( )` and the operators of one character
    Mark(char),
    /// `// ...` or `/* ... */`
    Comment,
    /// Something that is no token; it has been reported.
    Invalid,
    /// The end of the text.
    End,
}

/// Operators of two characters.
const OPERATORS: [&str; 9] = ["==", "!=", "<=", ">=", "&&", "||", "<<", ">>", ".."];

/// A token: what and where.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    /// Its type.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
    /// It is the first of its line.
    pub begins_line: bool,
}

/// The tokens of a text.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// Tokens; the last is [`TokenKind::End`].
    pub tokens: Vec<Token>,
    /// Comments.
    pub comments: Vec<Token>,
    /// The errors.
    pub diagnostics: Vec<Diagnostic>,
}

struct Lexer<'t> {
    file: FileId,
    cursor: Cursor<'t>,
    begins_line: bool,
    out: Lexed,
}

/// Splits a part of a text, which must be shorter than 4 GiB.
pub fn lex(file: FileId, text: &str, part: Range<usize>) -> Lexed {
    let mut cursor = Cursor::after_byte_order_mark(&text[..part.end]);
    cursor.skip(part.start.saturating_sub(cursor.at()));
    let mut lexer = Lexer { file, cursor, begins_line: true, out: Lexed::default() };
    while lexer.token() {}
    lexer.out
}

impl Lexer<'_> {
    fn invalid(
        &mut self,
        code: &'static str,
        start: usize,
        message: &str,
        help: &str,
    ) -> TokenKind {
        self.invalid_at(code, self.cursor.span_since(self.file, start), message, help)
    }

    fn invalid_at(
        &mut self,
        code: &'static str,
        span: Span,
        message: &str,
        help: &str,
    ) -> TokenKind {
        self.out.diagnostics.push(Diagnostic::error(code, span, message).help(help));
        TokenKind::Invalid
    }

    /// The next token; false after the last.
    fn token(&mut self) -> bool {
        while let Some(c) = self.cursor.peek_char().filter(|c| c.is_whitespace()) {
            self.begins_line |= c == '\n';
            self.cursor.skip(c.len_utf8());
        }
        let start = self.cursor.at();
        let Some(c) = self.cursor.peek_char() else {
            self.push(TokenKind::End, start);
            return false;
        };
        let kind = self.kind(c, start);
        self.push(kind, start);
        true
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let begins_line = std::mem::take(&mut self.begins_line);
        let Span { start, end, .. } = self.cursor.span_since(self.file, start);
        let token = Token { kind, start, end, begins_line };
        match token.kind {
            TokenKind::Comment => {
                // What follows a comment on its line does begin that line, if the comment did.
                self.begins_line = begins_line;
                self.out.comments.push(token);
            }
            _ => self.out.tokens.push(token),
        }
    }

    fn kind(&mut self, c: char, start: usize) -> TokenKind {
        let next = self.cursor.peek(c.len_utf8());
        match (c, next) {
            ('/', b'/') => {
                self.cursor.skip_line();
                return TokenKind::Comment;
            }
            ('/', b'*') => return self.block_comment(start),
            (':', b':') | ('-', b'>') => {
                self.cursor.skip(2);
                return if c == ':' { TokenKind::Is } else { TokenKind::Arrow };
            }
            ('0'..='9', _) | ('-', b'0'..=b'9') => return self.number(start),
            _ => {}
        }
        if let Some(operator) = OPERATORS.iter().find(|one| self.cursor.starts_with(one)) {
            self.cursor.skip(2);
            return TokenKind::Operator(operator);
        }
        if !self.cursor.word().is_empty() {
            return TokenKind::Name;
        }
        self.cursor.skip(c.len_utf8());
        match c {
            '.' | ',' | ':' | '{' | '}' | '[' | ']' => TokenKind::Mark(c),
            ';' | '(' | ')' | '=' | '+' | '-' | '*' | '/' | '%' => TokenKind::Mark(c),
            '&' | '|' | '^' | '~' | '<' | '>' | '!' => TokenKind::Mark(c),
            '"' => self.text_literal(start),
            '$' if !self.cursor.word().is_empty() => TokenKind::Parameter,
            '#' if !self.cursor.word().is_empty() => TokenKind::Directive,
            _ => {
                let message = format!("`{}` means nothing here", c.escape_default());
                self.invalid("stray-character", start, &message, "texts stand in double quotes")
            }
        }
    }

    fn block_comment(&mut self, start: usize) -> TokenKind {
        if block_comment(&mut self.cursor) == Block::Open {
            let file = self.file;
            let open = Span { file, start: start as u32, end: start as u32 + 2 };
            let message = "the comment does not end";
            self.invalid_at("unterminated-comment", open, message, "end it with */");
        }
        TokenKind::Comment
    }

    fn number(&mut self, start: usize) -> TokenKind {
        self.cursor.eat("-");
        if self.cursor.starts_with("0x") {
            self.cursor.skip_while(is_word);
        } else {
            let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'_';
            self.cursor.skip_while(is_digit);
            if self.cursor.fraction().is_some() {
                self.cursor.skip_while(is_digit);
            }
            if self.cursor.eat_one_of(b"eE") {
                self.cursor.eat_one_of(b"+-");
            }
            self.cursor.skip_while(is_word);
        }
        let text = self.cursor.since(start).replace('_', "");
        number(&text).unwrap_or_else(|_| {
            let help = "integers have 64 bits: 42, -7, 0x2A; doubles a point: 0.5, 1e3";
            self.invalid("bad-number", start, "this is no number", help)
        })
    }

    fn text_literal(&mut self, start: usize) -> TokenKind {
        let mut text = String::new();
        loop {
            let Some(c) = self.cursor.peek_char().filter(|&c| c != '\n') else {
                let help = "end it with \" on the same line";
                return self.invalid("unterminated-text", start, "the text does not end", help);
            };
            let at = self.cursor.at();
            self.cursor.skip(c.len_utf8());
            match c {
                '"' => return TokenKind::Text(text),
                '\\' => match self.escape() {
                    Some(c) => text.push(c),
                    None => {
                        let help = "there are \\\" \\\\ \\n \\r \\t and \\xHH";
                        self.invalid("bad-escape", at, "there is no such escape", help);
                    }
                },
                c => text.push(c),
            }
        }
    }

    /// A character given by its number is of ASCII.
    fn escape(&mut self) -> Option<char> {
        let mut ahead = self.cursor;
        let c = escape(&mut ahead, LETTERS).ok().filter(|c| c.is_ascii())?;
        self.cursor = ahead;
        Some(c)
    }
}

/// The value of a number without `_`.
fn number(text: &str) -> Result<TokenKind, BadNumber> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (digits, radix) = match digits.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.contains(['.', 'e', 'E']) => return double(text).map(TokenKind::Double),
        None => (digits, 10),
    };
    let magnitude = whole(digits, radix)?;
    if negative && 0_i64.checked_sub_unsigned(magnitude).is_none() {
        return Err(BadNumber::TooLarge);
    }
    let magnitude = i128::from(magnitude);
    Ok(TokenKind::Integer(if negative { -magnitude } else { magnitude }))
}
