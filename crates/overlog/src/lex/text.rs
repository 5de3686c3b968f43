//! Strings and bytes.

use super::{Lexer, TokenKind};
use tidemill_diag::Diagnostic;

impl Lexer<'_> {
    pub(super) fn string(&mut self, start: usize) -> TokenKind {
        self.at += 1;
        let mut text = String::new();
        while let Some((c, _)) = self.quoted_char(start) {
            text.push(c);
        }
        TokenKind::Str(text.into())
    }

    pub(super) fn bytes(&mut self, start: usize) -> TokenKind {
        self.at += 2;
        let mut bytes = Vec::new();
        while let Some((c, escaped)) = self.quoted_char(start) {
            match u8::try_from(u32::from(c)) {
                Ok(byte) if escaped || byte.is_ascii() => bytes.push(byte),
                _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        TokenKind::Bytes(bytes.into())
    }

    /// The next character and whether it was escaped; `None` behind the closing quote, and at the
    /// end of the line, where the string is given up so that one missing quote harms one line.
    fn quoted_char(&mut self, start: usize) -> Option<(char, bool)> {
        match self.peek(0) {
            b'"' => {
                self.at += 1;
                None
            }
            b'\\' if !matches!(self.peek(1), b'\n' | b'\r') => {
                self.at += 1;
                Some((self.escape()?, true))
            }
            _ if self.rest().is_empty() || self.rest().starts_with(['\n', '\r', '\\']) => {
                // A backslash before the line end belongs to the broken string.
                self.at += usize::from(self.peek(0) == b'\\');
                self.unterminated(start);
                None
            }
            _ => Some((self.bump()?, false)),
        }
    }

    fn escape(&mut self) -> Option<char> {
        let start = self.at - 1;
        let Some(c) = self.bump() else {
            self.unterminated(start);
            return None;
        };
        Some(match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\u{c}',
            '"' | '\\' => c,
            'x' if self.peek(0).is_ascii_hexdigit() && self.peek(1).is_ascii_hexdigit() => {
                let digits = &self.text[self.at..self.at + 2];
                self.at += 2;
                u8::from_str_radix(digits, 16).map_or(c, char::from)
            }
            _ => {
                let span = self.span(start, self.at);
                let message = format!("`\\{}` is no escape", c.escape_debug());
                self.wrong(
                    Diagnostic::error("bad-escape", span, message)
                        .help(r#"escapes are \n \r \t \f \" \\ and \xHH with two digits"#),
                );
                c
            }
        })
    }

    fn unterminated(&mut self, start: usize) {
        let span = self.span(start, self.at);
        self.wrong(
            Diagnostic::error("unterminated-string", span, "string has no end on its line")
                .help(r#"close it with `"`; a line end in a string is `\n`"#),
        );
    }
}
