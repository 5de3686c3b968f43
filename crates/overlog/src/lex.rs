//! Source text to tokens.
//!
//! | token | form |
//! |---|---|
//! | name | `[a-z][A-Za-z0-9_]*`, qualified `a::b`, absolute `::a::b` |
//! | variable | `[A-Z]...`; `_` alone is a fresh one |
//! | function, aggregate | `f_...`, `a_...` |
//! | integer | decimal or `0x` hexadecimal, at most 63 bits, a suffix `U` is ignored |
//! | identifier | `0x` + 1 to 40 hexadecimal digits + `I` |
//! | double | `1.5`, `1.5e-3`, `2e9`; `1.` is an integer and the end of a statement |
//! | time, interval | `1.5t`, `1.5s`, at most 9 decimals |
//! | string | `"..."` with `\n \r \t \f \" \\ \xHH`, on one line; bytes `b"..."` |
//! | comment | `/* */` (they do not nest), and `//`, `%%`, `#!` to the end of the line |
//!
//! The lexer never fails: a malformed token carries its diagnostic and a harmless value. Whether
//! that is reported is the preprocessor's choice, which may skip the token.

mod number;
mod text;

use tidemill_diag::text::{Block, Cursor, block_comment, is_blank, is_word};
use tidemill_diag::{Diagnostic, FileId, Span};

/// A token and its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its place; for a token out of a macro, where the macro was used.
    pub span: Span,
    /// Only blanks and comments precede it on its line.
    pub first: bool,
    /// Its error, if it is malformed.
    pub error: Option<Box<Diagnostic>>,
}

/// The kind of a token.
#[derive(Clone, PartialEq, Debug)]
pub enum TokenKind {
    /// A name, possibly qualified; the words of the language too.
    Name(Box<str>),
    /// A variable, or `_`.
    Var(Box<str>),
    /// `f_name`.
    Function(Box<str>),
    /// `a_name`.
    Aggregate(Box<str>),
    /// A whole number's magnitude, at most 2^63.
    Int(u64),
    /// A number with point or exponent.
    Double(f64),
    /// A ring identifier, big-endian.
    Id(Box<[u8; 20]>),
    /// A string.
    Str(Box<str>),
    /// A string of bytes.
    Bytes(Box<[u8]>),
    /// Nanoseconds since the epoch.
    Time(i64),
    /// Nanoseconds.
    Interval(i64),
    /// Punctuation or an operator.
    Sym(Sym),
    /// A comment of either form.
    Comment,
    /// The end of the source.
    End,
}

/// Declares [`Sym`] with its spellings, longest first where one begins another.
macro_rules! symbols {
    ($($name:ident $text:literal)*) => {
        /// Punctuation and operators.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "each is named after its spelling, see `Sym::text`")]
        pub enum Sym { $($name),* }

        impl Sym {
            /// All of them, longer before shorter where one begins the other.
            pub(crate) const ALL: &[Sym] = &[$(Sym::$name),*];

            /// As written.
            pub fn text(self) -> &'static str {
                match self { $(Sym::$name => $text),* }
            }
        }
    };
}

symbols! {
    Append "|||" OrOr "||" Bar "|" AndAnd "&&" And "&" EqEq "==" Eq "="
    NotEq "!=" Not "!" LessGreater "<>" LessEq "<=" Shl "<<" Less "<"
    GreaterEq ">=" Shr ">>" Greater ">" Power "**" Star "*"
    If ":-" Assign ":=" ColonColon "::" Colon ":"
    Plus "+" Minus "-" Slash "/" Percent "%" Caret "^" Tilde "~" Question "?"
    Comma "," Dot "." At "@" Hash "#"
    LParen "(" RParen ")" LBracket "[" RBracket "]" LBrace "{" RBrace "}"
}

impl TokenKind {
    /// The text of a name, variable, function or aggregate: what may be a macro.
    pub fn word(&self) -> Option<&str> {
        match self {
            TokenKind::Name(text)
            | TokenKind::Var(text)
            | TokenKind::Function(text)
            | TokenKind::Aggregate(text) => Some(text),
            _ => None,
        }
    }

    /// Its description in diagnostics.
    pub fn describe(&self) -> String {
        match self {
            TokenKind::Name(text) => format!("`{text}`"),
            TokenKind::Var(text) => format!("variable `{text}`"),
            TokenKind::Function(text) => format!("function `{text}`"),
            TokenKind::Aggregate(text) => format!("aggregate `{text}`"),
            TokenKind::Int(_) | TokenKind::Double(_) => "a number".into(),
            TokenKind::Id(_) => "an identifier".into(),
            TokenKind::Str(_) => "a string".into(),
            TokenKind::Bytes(_) => "bytes".into(),
            TokenKind::Time(_) => "a time".into(),
            TokenKind::Interval(_) => "an interval".into(),
            TokenKind::Sym(sym) => format!("`{}`", sym.text()),
            TokenKind::Comment => "a comment".into(),
            TokenKind::End => "the end of the file".into(),
        }
    }
}

/// The tokens of `text` from byte `start` on, comments among them; the last is
/// [`TokenKind::End`]. `text` must be shorter than 4 GiB.
pub fn lex(file: FileId, text: &str, start: usize) -> Vec<Token> {
    let cursor = match start {
        0 => Cursor::after_byte_order_mark(text),
        start => Cursor::starting(text, start),
    };
    let mut lexer = Lexer { file, cursor, line_start: true, error: None };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token();
        let end = token.kind == TokenKind::End;
        tokens.push(token);
        if end {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    file: FileId,
    cursor: Cursor<'a>,
    /// No token yet on this line.
    line_start: bool,
    /// The error of the token being read.
    error: Option<Box<Diagnostic>>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.cursor.peek(ahead)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    fn since(&self, start: usize) -> Span {
        self.cursor.span_since(self.file, start)
    }

    /// Keeps the first error of the token being read.
    fn set_error(&mut self, diagnostic: Diagnostic) {
        self.error.get_or_insert_with(|| Box::new(diagnostic));
    }

    fn token(&mut self) -> Token {
        self.skip_blanks();
        let (start, first) = (self.cursor.at(), self.line_start);
        let kind = self.kind(start);
        if kind != TokenKind::Comment {
            self.line_start = false;
        }
        Token { kind, span: self.since(start), first, error: self.error.take() }
    }

    /// Skips blanks, line ends and the `\` that continues a line.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                b'\n' => {
                    self.line_start = true;
                    self.cursor.skip(1);
                }
                byte if is_blank(byte) => self.cursor.skip(1),
                b'\\' if self.peek(1) == b'\n' => self.cursor.skip(2),
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => self.cursor.skip(3),
                _ => return,
            }
        }
    }

    fn kind(&mut self, start: usize) -> TokenKind {
        let (c, next) = (self.peek(0), self.peek(1));
        match c {
            _ if self.cursor.is_at_end() => TokenKind::End,
            b'/' if next == b'*' => self.block_comment(start),
            b'/' if next == b'/' => self.line_comment(),
            b'%' if next == b'%' => self.line_comment(),
            b'#' if next == b'!' => self.line_comment(),
            b'b' if next == b'"' => self.bytes(start),
            b'"' => self.string(start),
            b'0'..=b'9' => self.number(start),
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => self.word(start),
            b':' if next == b':' && self.peek(2).is_ascii_lowercase() => self.word(start),
            _ => self.symbol(start),
        }
    }

    fn line_comment(&mut self) -> TokenKind {
        let line = self.cursor.rest().split('\n').next().unwrap_or("");
        self.cursor.skip(line.trim_end_matches('\r').len());
        TokenKind::Comment
    }

    fn block_comment(&mut self, start: usize) -> TokenKind {
        match block_comment(&mut self.cursor) {
            Block::Closed { nested: None } => {}
            Block::Closed { nested: Some(inner) } => {
                let message = "`/*` inside a comment: comments do not nest";
                let end = self.cursor.at();
                self.set_error(
                    Diagnostic::warning("nested-comment", self.span(inner, inner + 2), message)
                        .label(self.span(end - 2, end), "the comment ends here"),
                );
            }
            Block::Open => {
                let open = self.span(start, start + 2);
                self.set_error(
                    Diagnostic::error("unterminated-comment", open, "the comment does not end")
                        .help("close it with `*/`"),
                );
            }
        }
        TokenKind::Comment
    }

    /// A name with its qualifiers, a variable, a function or an aggregate.
    fn word(&mut self, start: usize) -> TokenKind {
        let upper = !matches!(self.peek(0), b'a'..=b'z' | b':');
        self.cursor.skip_while(is_word);
        while !upper && self.cursor.starts_with("::") && self.peek(2).is_ascii_lowercase() {
            self.cursor.skip(2);
            self.cursor.skip_while(is_word);
        }
        let text: Box<str> = self.cursor.since(start).into();
        match () {
            () if upper => TokenKind::Var(text),
            () if text.contains("::") || text.len() == 2 => TokenKind::Name(text),
            () if text.starts_with("f_") => TokenKind::Function(text),
            () if text.starts_with("a_") => TokenKind::Aggregate(text),
            () => TokenKind::Name(text),
        }
    }

    /// A text in `'`, which are no quotes; none if no second one follows on the line.
    fn single_quoted(&mut self, start: usize) -> Option<TokenKind> {
        let line = self.cursor.rest().strip_prefix('\'')?.split('\n').next()?;
        let text = line.split_once('\'')?.0.to_owned();
        self.cursor.skip(text.len() + 2);
        let message = "a text does not stand between `'`";
        let error = Diagnostic::error("single-quotes", self.since(start), message);
        self.set_error(error.help("strings stand between `\"`"));
        Some(TokenKind::Str(text.into()))
    }

    fn symbol(&mut self, start: usize) -> TokenKind {
        if let Some(text) = self.single_quoted(start) {
            return text;
        }
        if let Some(sym) = self.symbol_here() {
            self.cursor.skip(sym.text().len());
            return TokenKind::Sym(sym);
        }
        // One diagnostic for a run of strays, not one for each.
        while self.symbol_here().is_none()
            && self.cursor.peek_char().is_some_and(|c| {
                !c.is_ascii_alphanumeric() && !c.is_ascii_whitespace() && c != '"' && c != '_'
            })
        {
            self.cursor.next_char();
        }
        let found = self.cursor.since(start);
        let help = match found.chars().next() {
            Some('\'' | '`') => "strings stand between `\"`",
            Some(';') => {
                "terms are separated by `,`, statements end with `.`, and alternatives are rules \
                 of their own"
            }
            _ => "",
        };
        let visible = |c: char| c.is_control().then(|| c.escape_debug().to_string());
        let shown: String =
            found.chars().map(|c| visible(c).unwrap_or_else(|| c.to_string())).collect();
        let message = format!("`{shown}` means nothing here");
        let mut error = Diagnostic::error("stray-character", self.since(start), message);
        if !help.is_empty() {
            error = error.help(help);
        }
        self.set_error(error);
        TokenKind::Comment
    }

    fn symbol_here(&self) -> Option<Sym> {
        // Most tokens of a long list of facts are symbols: one byte distinguishes most of them.
        let rest = self.cursor.rest().as_bytes();
        let first = *rest.first()?;
        let is_here = |sym: &Sym| {
            let text = sym.text().as_bytes();
            text[0] == first && rest.starts_with(text)
        };
        Sym::ALL.iter().copied().find(is_here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of `text` in short form, and the codes of what is wrong.
    fn check(text: &str, expect: &str) {
        let words: Vec<String> = lex(FileId(0), text, 0)
            .into_iter()
            .filter(|token| token.kind != TokenKind::End)
            .map(|token| match (&token.error, &token.kind) {
                (Some(error), _) => error.code.to_string(),
                (None, TokenKind::Sym(sym)) => sym.text().to_string(),
                (None, TokenKind::Int(it)) => format!("{it}"),
                (None, TokenKind::Double(it)) => format!("{it:?}"),
                (None, TokenKind::Name(it)) => format!("n:{it}"),
                (None, TokenKind::Var(it)) => format!("v:{it}"),
                (None, TokenKind::Function(it)) => format!("f:{it}"),
                (None, TokenKind::Aggregate(it)) => format!("a:{it}"),
                (None, TokenKind::Str(it)) => format!("{it:?}"),
                (None, TokenKind::Bytes(it)) => format!("b{it:?}"),
                (None, TokenKind::Id(it)) => format!("id:{}", it[19]),
                (None, TokenKind::Time(it)) => format!("{it}t"),
                (None, TokenKind::Interval(it)) => format!("{it}s"),
                (None, other) => format!("{other:?}"),
            })
            .collect();
        assert_eq!(words.join(" "), expect, "{text}");
    }

    #[test]
    fn words() {
        check(
            "a Ab _ _x f_now a_MIN f_ a::b ::a::f_x A::b",
            "n:a v:Ab v:_ v:_x f:f_now a:a_MIN n:f_ n:a::b n:::a::f_x v:A n:::b",
        );
    }

    #[test]
    fn numbers_and_periods() {
        check("1. 1.5 X-1 keys(1).", "1 . 1.5 v:X - 1 n:keys ( 1 ) .");
        check("0x1F 0x2aI 5U 2e3 1.5e-1", "31 id:42 5 2000.0 0.15");
        check("1.5t 0.000000001s", "1500000000t 1s");
        check("12ab 0x 1e999 1.2345678901s", "bad-number bad-number literal-too-large bad-number");
        check("9223372036854775808", "9223372036854775808");
        check("9223372036854775809 0xFFFFFFFFFFFFFFFF", "literal-too-large literal-too-large");
        check("0x11111111111111111111111111111111111111111I", "literal-too-large");
    }

    #[test]
    fn operators_take_the_longest() {
        check("a<*>,|||<>:-:=!=", "n:a < * > , ||| <> :- := !=");
    }

    #[test]
    fn text() {
        check(r#""a\n\x41\"" b"\xff1""#, r#""a\nA\"" b[255, 49]"#);
        check("\"a", "unterminated-string");
        check(r#""\q" "\x4" "ok""#, r#"bad-escape bad-escape "ok""#);
    }

    #[test]
    fn comments_do_not_nest_and_strays_are_one() {
        check("1 /* a */ 2 // x\n3 %% y\n4 #! z", "1 Comment 2 Comment 3 Comment 4 Comment");
        check("/* /* */ 1", "nested-comment 1");
        check("/* /* */ */ 1", "nested-comment * / 1");
        check("/*/ 1 */ 2 /**/ 3", "Comment 2 Comment 3");
        check("/* ä /*", "unterminated-comment");
        check("1 $;ä 2", "1 stray-character 2");
        check("'a b' c 'd", "single-quotes n:c stray-character n:d");
    }
}
