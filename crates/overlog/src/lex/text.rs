//! Strings and bytes.

use tidemill_diag::Diagnostic;
use tidemill_diag::text::{BadEscape, escape};
use tidemill_relation::text::LETTERS;

use super::{Lexer, TokenKind};

impl Lexer<'_> {
    pub(super) fn string(&mut self, start: usize) -> TokenKind {
        self.cursor.skip(1);
        let mut text = String::new();
        while let Some((c, _)) = self.quoted_char(start) {
            text.push(c);
        }
        TokenKind::Str(text.into())
    }

    pub(super) fn bytes(&mut self, start: usize) -> TokenKind {
        self.cursor.skip(2);
        let mut bytes = Vec::new();
        while let Some((c, escaped)) = self.quoted_char(start) {
            match u8::try_from(u32::from(c)) {
                Ok(byte) if escaped || byte.is_ascii() => bytes.push(byte),
                _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        TokenKind::Bytes(bytes.into())
    }

    /// The next character and whether it was escaped; `None` after the closing quote, and at the
    /// end of the line, where the string is given up so that one missing quote harms one line.
    fn quoted_char(&mut self, start: usize) -> Option<(char, bool)> {
        match self.cursor.peek_char() {
            Some('"') => {
                self.cursor.skip(1);
                None
            }
            Some('\\') if !matches!(self.peek(1), b'\n' | b'\r') => Some((self.escape()?, true)),
            None | Some('\n' | '\r' | '\\') => {
                // A backslash before the line end belongs to the broken string.
                self.cursor.eat("\\");
                self.unterminated(start);
                None
            }
            Some(_) => Some((self.cursor.next_char()?, false)),
        }
    }

    fn escape(&mut self) -> Option<char> {
        let start = self.cursor.at();
        self.cursor.skip(1);
        match escape(&mut self.cursor, LETTERS) {
            Ok(c) => Some(c),
            Err(BadEscape::End) => {
                self.unterminated(start);
                None
            }
            Err(BadEscape::Digits | BadEscape::Letter(_)) => {
                let c = self.cursor.next_char()?;
                let message = format!("`\\{}` is no escape", c.escape_debug());
                self.set_error(
                    Diagnostic::error("bad-escape", self.since(start), message)
                        .help(r#"escapes are \n \r \t \f \" \\ and \xHH with two digits"#),
                );
                Some(c)
            }
        }
    }

    fn unterminated(&mut self, start: usize) {
        self.set_error(
            Diagnostic::error(
                "unterminated-string",
                self.since(start),
                "a string must end on its line",
            )
            .help(r#"close it with `"`; a line end in a string is `\n`"#),
        );
    }
}
