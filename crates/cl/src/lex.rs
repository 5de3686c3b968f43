//! Source text to tokens.
//!
//! | token | form |
//! |---|---|
//! | name | a letter or `_`, then letters, digits and `_` |
//! | keyword | one of [`TokenKind::KEYWORDS`], in upper case |
//! | integer | decimal, or hexadecimal with a digit first and `H` last: `0FFH` |
//! | real | `1.5`, `1.`, `1.5E-3` |
//! | character | two hexadecimal digits or so, a digit first and `X` last: `0DX`, `0FFX` |
//! | text | `"..."` on one line, without escapes |
//! | comment | `(* *)`; they nest |
//!
//! The lexer never fails: an error is a diagnostic, and its token becomes a harmless one. Tokens
//! hold no values; [`value`] reads them from the text again, so a token is small.

pub mod value;

use tidemill_diag::text::{Cursor, is_blank, is_word};
use tidemill_diag::{Diagnostic, FileId, Span};

/// A token and its span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Declares [`TokenKind`] with the spellings of its keywords and symbols.
macro_rules! tokens {
    (keywords: $($word:ident $spelling:literal)*; symbols: $($sym:ident $text:literal)*;) => {
        /// What a token is.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "keywords and symbols are named after their spelling")]
        pub enum TokenKind {
            /// A name.
            Ident,
            /// A whole number.
            Integer,
            /// A number with a point.
            Real,
            /// A character by its number.
            Character,
            /// A text.
            Text,
            /// A comment; never among [`Lexed::tokens`].
            Comment,
            /// The end of the source.
            End,
            $($word,)* $($sym,)*
        }

        impl TokenKind {
            /// All keywords.
            pub const KEYWORDS: &[TokenKind] = &[$(TokenKind::$word),*];

            /// The keyword that is spelled like this.
            pub fn keyword(text: &str) -> Option<TokenKind> {
                match text { $($spelling => Some(TokenKind::$word),)* _ => None }
            }

            /// As written, for keywords and symbols; else empty.
            pub fn text(self) -> &'static str {
                match self {
                    $(TokenKind::$word => $spelling,)*
                    $(TokenKind::$sym => $text,)*
                    _ => "",
                }
            }
        }
    };
}

tokens! {
    keywords:
    Activity "ACTIVITY" And "AND" Any "ANY" Await "AWAIT" Begin "BEGIN" By "BY"
    Component "COMPONENT" Connect "CONNECT" Constant "CONSTANT" Delete "DELETE"
    Disconnect "DISCONNECT" Div "DIV" Do "DO" Else "ELSE" Elseif "ELSEIF" Elsif "ELSIF"
    KeywordEnd "END" Exists "EXISTS" False "FALSE" Finally "FINALLY" Finish "FINISH" For "FOR"
    Foreach "FOREACH" If "IF" Implementation "IMPLEMENTATION" In "IN" Input "INPUT"
    Interface "INTERFACE" Is "IS" Mod "MOD" Move "MOVE" New "NEW" Of "OF" Offers "OFFERS"
    Or "OR" Out "OUT" Procedure "PROCEDURE" Repeat "REPEAT" Requires "REQUIRES"
    Return "RETURN" Then "THEN" To "TO" True "TRUE" Until "UNTIL" Variable "VARIABLE"
    While "WHILE";
    symbols:
    Assign ":=" Colon ":" Semicolon ";" Comma "," LParen "(" RParen ")" LBracket "["
    RBracket "]" LBrace "{" RBrace "}" DotDot ".." Dot "." Bar "|" Equal "=" NotEqual "#"
    LessEqual "<=" Less "<" GreaterEqual ">=" Greater ">" Plus "+" Minus "-" Star "*"
    Slash "/" Tilde "~" Exclamation "!" Question "?";
}

/// The length of the longest keyword.
pub(crate) const KEYWORD_LENGTH_MAX: usize = "IMPLEMENTATION".len();

impl TokenKind {
    /// Its description in a diagnostic, with its text where that is more specific.
    pub fn describe(self, text: &str) -> String {
        match self {
            TokenKind::Ident => format!("`{text}`"),
            TokenKind::Integer | TokenKind::Real => "a number".into(),
            TokenKind::Character => "a character".into(),
            TokenKind::Text => "a text".into(),
            TokenKind::Comment => "a comment".into(),
            TokenKind::End => "the end of the file".into(),
            other => format!("`{}`", other.text()),
        }
    }
}

/// A source as tokens.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// Without comments; the last is [`TokenKind::End`].
    pub tokens: Vec<Token>,
    /// The comments, in order.
    pub comments: Vec<Token>,
    /// The errors, in order.
    pub diagnostics: Vec<Diagnostic>,
}

/// The tokens of `text`, which must be shorter than 4 GiB.
pub fn lex(file: FileId, text: &str) -> Lexed {
    // Some five bytes of source are a token; growing once is better than always having too much.
    let tokens = Vec::with_capacity(text.len() / 5 + 1);
    let lexed = Lexed { tokens, ..Lexed::default() };
    let mut lexer = Lexer { file, cursor: Cursor::after_byte_order_mark(text), lexed };
    while lexer.token() {}
    lexer.lexed
}

struct Lexer<'a> {
    file: FileId,
    cursor: Cursor<'a>,
    lexed: Lexed,
}

impl Lexer<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.lexed.diagnostics.push(diagnostic);
    }

    /// Reads one token; false at the end.
    fn token(&mut self) -> bool {
        self.cursor.skip_while(is_blank);
        let start = self.cursor.at();
        let Some(first) = self.cursor.first() else {
            self.push(TokenKind::End, start);
            return false;
        };
        match first {
            b'0'..=b'9' => self.number(start),
            b'"' => self.text(start),
            b'(' if self.cursor.peek(1) == b'*' => self.comment(start),
            _ if is_word(first) => self.word(start),
            _ => self.symbol(start),
        }
        true
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let Span { start, end, .. } = self.cursor.span_since(self.file, start);
        let token = Token { kind, start, end };
        if kind == TokenKind::Comment {
            self.lexed.comments.push(token);
        } else {
            self.lexed.tokens.push(token);
        }
    }

    fn word(&mut self, start: usize) {
        let text = self.cursor.word();
        let may_be = text.starts_with(|c: char| c.is_ascii_uppercase())
            && (2..=KEYWORD_LENGTH_MAX).contains(&text.len());
        let keyword = if may_be { TokenKind::keyword(text) } else { None };
        self.push(keyword.unwrap_or(TokenKind::Ident), start);
    }

    fn number(&mut self, start: usize) {
        self.cursor.skip_while(is_word);
        if self.cursor.peek(0) == b'.' && self.cursor.peek(1) != b'.' {
            // Only reals continue with a point.
            self.cursor.skip(1);
            let mut ahead = self.cursor;
            let fraction = ahead.take_while(is_word);
            // `0.THEN`: the point ends the number.
            if TokenKind::keyword(fraction).is_none() {
                self.cursor = ahead;
                if fraction.ends_with('E') && self.cursor.eat_one_of(b"+-") {
                    self.cursor.skip_while(is_word);
                }
            }
        }
        let span = self.cursor.span_since(self.file, start);
        let (kind, error) = value::classify(self.cursor.since(start), span);
        self.push(kind, start);
        self.lexed.diagnostics.extend(error);
    }

    fn text(&mut self, start: usize) {
        self.cursor.skip(1);
        self.cursor.skip_while(|byte| !matches!(byte, b'"' | b'\n' | b'\r'));
        if !self.cursor.eat("\"") {
            let open = self.span(start, start + 1);
            self.report(
                Diagnostic::error("unterminated-text", open, "a text must end on its line")
                    .help("put a `\"` after it; texts have no escapes"),
            );
        }
        self.push(TokenKind::Text, start);
    }

    fn comment(&mut self, start: usize) {
        let mut depth = 0usize;
        loop {
            self.cursor.skip_while(|byte| !matches!(byte, b'(' | b'*'));
            if self.cursor.eat("(*") {
                depth += 1;
            } else if self.cursor.eat("*)") {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            } else if self.cursor.is_at_end() {
                let open = self.span(start, start + 2);
                self.report(
                    Diagnostic::error("unterminated-comment", open, "the comment does not end")
                        .help("comments nest: each `(*` needs its own `*)`"),
                );
                break;
            } else {
                self.cursor.skip(1);
            }
        }
        self.push(TokenKind::Comment, start);
    }

    fn symbol(&mut self, start: usize) {
        if let Some((kind, length)) = self.symbol_here() {
            self.cursor.skip(length);
            return self.push(kind, start);
        }
        // One diagnostic for a run of strays, not one for each.
        while self.is_stray() {
            self.cursor.next_char();
        }
        let found = self.cursor.since(start);
        let shown = found.escape_debug().to_string().replace("\\'", "'");
        let message = format!("`{shown}` means nothing here");
        let span = self.cursor.span_since(self.file, start);
        let error = Diagnostic::error("stray-character", span, message);
        let (help, meant) = match found {
            "&" | "&&" => ("write `AND`", Some(TokenKind::And)),
            "%" => ("write `MOD`", Some(TokenKind::Mod)),
            _ => ("", None),
        };
        if let Some(kind) = meant {
            self.push(kind, start);
            return self.report(error.help(help));
        }
        self.report(match found {
            "'" => error.help("texts and characters stand between `\"`"),
            _ => error,
        });
    }

    fn is_stray(&self) -> bool {
        let begins = |byte| is_word(byte) || is_blank(byte) || byte == b'"';
        self.cursor.first().is_some_and(|byte| !begins(byte)) && self.symbol_here().is_none()
    }

    fn symbol_here(&self) -> Option<(TokenKind, usize)> {
        use TokenKind as Kind;
        let next = self.cursor.peek(1);
        Some(match self.cursor.peek(0) {
            b':' if next == b'=' => (Kind::Assign, 2),
            b':' => (Kind::Colon, 1),
            b';' => (Kind::Semicolon, 1),
            b',' => (Kind::Comma, 1),
            b'(' => (Kind::LParen, 1),
            b')' => (Kind::RParen, 1),
            b'[' => (Kind::LBracket, 1),
            b']' => (Kind::RBracket, 1),
            b'{' => (Kind::LBrace, 1),
            b'}' => (Kind::RBrace, 1),
            b'.' if next == b'.' => (Kind::DotDot, 2),
            b'.' => (Kind::Dot, 1),
            b'|' => (Kind::Bar, 1),
            b'=' => (Kind::Equal, 1),
            b'#' => (Kind::NotEqual, 1),
            b'<' if next == b'=' => (Kind::LessEqual, 2),
            b'<' => (Kind::Less, 1),
            b'>' if next == b'=' => (Kind::GreaterEqual, 2),
            b'>' => (Kind::Greater, 1),
            b'+' => (Kind::Plus, 1),
            b'-' => (Kind::Minus, 1),
            b'*' => (Kind::Star, 1),
            b'/' => (Kind::Slash, 1),
            b'~' => (Kind::Tilde, 1),
            b'!' => (Kind::Exclamation, 1),
            b'?' => (Kind::Question, 1),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of `text` in short form, comments last, then the codes of the errors.
    fn check(text: &str, expect: &str) {
        let lexed = lex(FileId(0), text);
        let slice = |token: &Token| &text[token.start as usize..token.end as usize];
        let mut words: Vec<String> = lexed.tokens[..lexed.tokens.len() - 1]
            .iter()
            .map(|token| match token.kind {
                TokenKind::Ident => format!("n:{}", slice(token)),
                TokenKind::Integer => value::integer(slice(token)).to_string(),
                TokenKind::Real => format!("{:?}", value::real(slice(token))),
                TokenKind::Character => format!("{}X", value::character(slice(token))),
                TokenKind::Text => format!("{:?}", value::text(slice(token))),
                other => other.text().into(),
            })
            .collect();
        words.extend(lexed.comments.iter().map(|comment| slice(comment).to_string()));
        words.extend(lexed.diagnostics.iter().map(|it| it.code.to_string()));
        assert_eq!(words.join(" "), expect, "{text}");
    }

    #[test]
    fn words() {
        check("x END End end_ _a IF1", "n:x END n:End n:end_ n:_a n:IF1");
        for keyword in TokenKind::KEYWORDS {
            assert_eq!(TokenKind::keyword(keyword.text()), Some(*keyword));
            assert!(keyword.text().len() <= KEYWORD_LENGTH_MAX);
        }
    }

    #[test]
    fn numbers() {
        check("42 0FFH 0DX 0FFX 1.5 1.5E-3 2.0E3 1..5", "42 255 13X 255X 1.5 0.0015 2000.0 1 .. 5");
        check("9223372036854775808 7FFFFFFFFFFFFFFFH", "9223372036854775808 9223372036854775807");
        check("9223372036854775809 0FFFFFFFFFFFFFFFFH", "0 0 literal-too-large literal-too-large");
        check("0. 12.;3.E2 4.THEN", "0.0 12.0 ; 300.0 4.0 THEN");
        check("1.x 1E5 12ab 0FF 100X 1.5E 1.0E999", {
            "0.0 0 0 0 0X 0.0 0.0 bad-number bad-number bad-number bad-number literal-too-large \
             bad-number literal-too-large"
        });
    }

    #[test]
    fn texts_and_comments() {
        check("\"a\" \"ä (* \" \"\"", r#""a" "ä (* " """#);
        check("\"open\nx", r#""open" n:x unterminated-text"#);
        check("a (* x (* ü *) *) b (**)", "n:a n:b (* x (* ü *) *) (**)");
        check("a (* (* *)", "n:a (* (* *) unterminated-comment");
        check("(*)", "(*) unterminated-comment");
    }

    #[test]
    fn symbols_take_the_longest() {
        check("a:=b:c<=<>=>#..x!?~", "n:a := n:b : n:c <= < >= > # .. n:x ! ? ~");
        check("1 $%ä 2 &&", "1 2 AND stray-character stray-character");
    }
}
