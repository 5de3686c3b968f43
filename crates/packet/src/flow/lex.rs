//! Tokens. Comments are kept apart, for the formatter.

use tidemill_diag::{Diagnostic, FileId, Span};

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// A name: letters, digits, `_`; no digit first.
    Name,
    /// `$NAME`.
    Parameter,
    /// `#include`, `#define` and whatever else begins so.
    Directive,
    /// Digits, or `0x` and hexadecimal ones, perhaps with `_` between and `-` before.
    Integer(i64),
    /// With a point or an exponent.
    Double(f64),
    /// In quotes; here without them and with what its escapes stand for.
    Text(String),
    /// `::`
    Is,
    /// `->`
    Arrow,
    /// One of `. , : { } [ ]`
    Mark(char),
    /// `// ...` or `/* ... */`
    Comment,
    /// Something that is no token; it has been reported.
    Wrong,
    /// The end of the text.
    End,
}

/// A token: what and where.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its first byte.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
    /// It is the first of its line.
    pub begins_line: bool,
}

/// What a text consists of.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// Tokens; the last is [`Kind::End`].
    pub tokens: Vec<Token>,
    /// Comments.
    pub comments: Vec<Token>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

struct Lexer<'t> {
    file: FileId,
    text: &'t str,
    at: usize,
    begins_line: bool,
    out: Lexed,
}

/// Splits a text; it must be shorter than 4 GiB.
pub fn lex(file: FileId, text: &str) -> Lexed {
    // Editors of some systems write a byte order mark before the text.
    let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lexer = Lexer { file, text, at, begins_line: true, out: Lexed::default() };
    while lexer.token() {}
    lexer.out
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, is: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !is(c)).unwrap_or(rest.len());
    }

    fn wrong(&mut self, code: &'static str, start: usize, message: &str, help: &str) -> Kind {
        let span = Span { file: self.file, start: start as u32, end: self.at as u32 };
        self.out.diagnostics.push(Diagnostic::error(code, span, message).help(help));
        Kind::Wrong
    }

    /// The next token; false behind the last.
    fn token(&mut self) -> bool {
        while let Some(c) = self.peek().filter(|c| c.is_whitespace()) {
            self.begins_line |= c == '\n';
            self.at += c.len_utf8();
        }
        let start = self.at;
        let Some(c) = self.peek() else {
            self.push(Kind::End, start);
            return false;
        };
        let kind = self.kind(c, start);
        self.push(kind, start);
        true
    }

    fn push(&mut self, kind: Kind, start: usize) {
        let begins_line = std::mem::take(&mut self.begins_line);
        let token = Token { kind, start: start as u32, end: self.at as u32, begins_line };
        match token.kind {
            Kind::Comment => {
                // What follows a comment on its line does begin that line, if the comment did.
                self.begins_line = begins_line;
                self.out.comments.push(token);
            }
            _ => self.out.tokens.push(token),
        }
    }

    fn kind(&mut self, c: char, start: usize) -> Kind {
        let rest = self.rest();
        if rest.starts_with("//") {
            self.take_while(|c| c != '\n');
            return Kind::Comment;
        }
        if rest.starts_with("/*") {
            return self.block_comment(start);
        }
        if rest.starts_with("::") || rest.starts_with("->") {
            self.at += 2;
            return if c == ':' { Kind::Is } else { Kind::Arrow };
        }
        if is_name_start(c) {
            self.take_while(is_name);
            return Kind::Name;
        }
        let digit_follows = rest[c.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
        if c.is_ascii_digit() || c == '-' && digit_follows {
            return self.number(start);
        }
        self.at += c.len_utf8();
        match c {
            '.' | ',' | ':' | '{' | '}' | '[' | ']' => Kind::Mark(c),
            '"' => self.text_literal(start),
            '$' | '#' if self.peek().is_some_and(is_name_start) => {
                self.take_while(is_name);
                if c == '$' { Kind::Parameter } else { Kind::Directive }
            }
            _ => {
                let message = format!("`{}` means nothing here", c.escape_default());
                self.wrong("stray-character", start, &message, "texts stand in double quotes")
            }
        }
    }

    fn block_comment(&mut self, start: usize) -> Kind {
        match self.rest().find("*/") {
            Some(length) => {
                self.at += length + 2;
                Kind::Comment
            }
            None => {
                self.at = start + 2;
                let help = "end it with */";
                self.wrong("unterminated-comment", start, "the comment does not end", help);
                self.at = self.text.len();
                Kind::Comment
            }
        }
    }

    fn number(&mut self, start: usize) -> Kind {
        self.at += usize::from(self.rest().starts_with('-'));
        if self.rest().starts_with("0x") {
            self.take_while(is_name);
        } else {
            self.take_while(|c| c.is_ascii_digit() || c == '_');
            let behind = self.rest().strip_prefix('.');
            if behind.is_some_and(|behind| behind.starts_with(|c: char| c.is_ascii_digit())) {
                self.at += 1;
                self.take_while(|c| c.is_ascii_digit() || c == '_');
            }
            if self.rest().starts_with(['e', 'E']) {
                self.at += 1;
                self.at += usize::from(self.rest().starts_with(['+', '-']));
            }
            self.take_while(is_name);
        }
        let text = self.text[start..self.at].replace('_', "");
        match number(&text) {
            Some(kind) => kind,
            None => {
                let help = "integers have 64 bits: 42, -7, 0x2A; doubles a point: 0.5, 1e3";
                self.wrong("bad-number", start, "this is no number", help)
            }
        }
    }

    fn text_literal(&mut self, start: usize) -> Kind {
        let mut text = String::new();
        loop {
            let Some(c) = self.peek().filter(|&c| c != '\n') else {
                let help = "end it with \" on the same line";
                return self.wrong("unterminated-text", start, "the text does not end", help);
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Kind::Text(text),
                '\\' => match self.escape() {
                    Some(c) => text.push(c),
                    None => {
                        let at = self.at;
                        let help = "there are \\\" \\\\ \\n \\r \\t and \\xHH";
                        self.wrong("bad-escape", at - 1, "there is no such escape", help);
                    }
                },
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let c = self.peek()?;
        let plain = match c {
            '"' | '\\' => c,
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'x' => {
                let digits = self.rest().get(1..3)?;
                let code = u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii)?;
                self.at += 3;
                return Some(code as char);
            }
            _ => return None,
        };
        self.at += c.len_utf8();
        Some(plain)
    }
}

fn number(text: &str) -> Option<Kind> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    if let Some(hex) = digits.strip_prefix("0x") {
        return i64::from_str_radix(&format!("{sign}{hex}"), 16).ok().map(Kind::Integer);
    }
    if text.contains(['.', 'e', 'E']) {
        return text.parse().ok().filter(|double: &f64| double.is_finite()).map(Kind::Double);
    }
    text.parse().ok().map(Kind::Integer)
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
