//! A place in a text that is read from left to right.

use crate::{FileId, Span};

/// A text and how far it has been read: always up to the beginning of a character.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

/// Letters, digits and `_`, of ASCII.
#[inline]
pub const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The same, but no digit.
#[inline]
pub const fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// The characters that most languages skip between tokens: spaces, tabs and ends of lines or pages.
#[inline]
pub const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

impl<'t> Cursor<'t> {
    /// At the beginning.
    #[inline]
    pub const fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    /// At a byte of the text.
    ///
    /// # Panics
    /// If that is inside a character, or outside.
    pub fn starting(text: &'t str, at: usize) -> Cursor<'t> {
        assert!(text.is_char_boundary(at), "byte {at} begins no character");
        Cursor { text, at }
    }

    /// After the byte order mark that some editors write at the beginning.
    pub fn after_byte_order_mark(text: &'t str) -> Cursor<'t> {
        let mut cursor = Cursor::new(text);
        cursor.eat("\u{feff}");
        cursor
    }

    /// The whole text.
    #[inline]
    pub const fn text(&self) -> &'t str {
        self.text
    }

    /// The number of bytes read.
    #[inline]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// The rest of the text.
    #[inline]
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Whether all has been read.
    #[inline]
    pub const fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The next byte.
    #[inline]
    pub fn first(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The byte `ahead` of the next; 0 after the end.
    #[inline]
    pub fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The next character.
    #[inline]
    pub fn peek_char(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether this comes next.
    #[inline]
    pub fn starts_with(&self, token: &str) -> bool {
        self.text.as_bytes()[self.at.min(self.text.len())..].starts_with(token.as_bytes())
    }

    /// Skips `bytes` bytes, which must be whole characters of the text.
    #[inline]
    pub const fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        debug_assert!(self.text.is_char_boundary(self.at));
    }

    /// Reads a character.
    #[inline]
    pub fn next_char(&mut self) -> Option<char> {
        let c = self.peek_char()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Reads this if it comes next.
    #[inline]
    pub fn eat(&mut self, token: &str) -> bool {
        let found = self.starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Reads one of these bytes of ASCII if one comes next.
    #[inline]
    pub fn eat_one_of(&mut self, bytes: &[u8]) -> bool {
        let found = self.first().is_some_and(|byte| bytes.contains(&byte));
        self.at += usize::from(found);
        found
    }

    /// Reads bytes while `is` holds; it must be the same for all bytes of a character beyond ASCII.
    #[inline]
    pub fn skip_while(&mut self, is: impl Fn(u8) -> bool) {
        let (bytes, mut at) = (self.text.as_bytes(), self.at);
        while at < bytes.len() && is(bytes[at]) {
            at += 1;
        }
        self.at = at;
    }

    /// The same, and returns the text read.
    #[inline]
    pub fn take_while(&mut self, is: impl Fn(u8) -> bool) -> &'t str {
        let start = self.at;
        self.skip_while(is);
        self.since(start)
    }

    /// Reads up to the end of the line, which is not read.
    #[inline]
    pub fn skip_line(&mut self) {
        self.skip_while(|byte| byte != b'\n');
    }

    /// Reads a word: letters, digits and `_`, not beginning with a digit. Empty if none is next.
    #[inline]
    pub fn word(&mut self) -> &'t str {
        if is_word_start(self.peek(0)) { self.take_while(is_word) } else { "" }
    }

    /// The text read since the cursor was at `start`.
    #[inline]
    pub fn since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    /// The span of the text read since the cursor was at `start`.
    #[inline]
    pub const fn span_since(&self, file: FileId, start: usize) -> Span {
        Span { file, start: start as u32, end: self.at as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_from_left_to_right() {
        let mut cursor = Cursor::after_byte_order_mark("\u{feff}ab_1 := é; ");
        assert_eq!((cursor.at(), cursor.word()), (3, "ab_1"));
        cursor.skip_while(is_blank);
        assert!(!cursor.eat("=") && cursor.eat(":="));
        cursor.skip_while(is_blank);
        let start = cursor.at();
        assert_eq!((cursor.word(), cursor.next_char()), ("", Some('é')));
        assert_eq!(cursor.since(start), "é");
        assert_eq!(cursor.span_since(FileId(1), start).end, 13);
        assert!(cursor.eat_one_of(b",;") && !cursor.eat_one_of(b",;"));
        cursor.skip_line();
        assert!(cursor.is_at_end() && cursor.rest().is_empty());
        assert_eq!((cursor.peek(0), cursor.first(), cursor.next_char()), (0, None, None));
    }

    #[test]
    #[should_panic(expected = "begins no character")]
    fn no_cursor_stands_inside_a_character() {
        Cursor::starting("é", 1);
    }
}
