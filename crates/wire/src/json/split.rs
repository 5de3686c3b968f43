//! Splitting a stream into JSON values.
//!
//! Values may be separated by blanks, line ends, or nothing where both are objects. The scan keeps
//! its state between calls, so each byte is scanned once, for any pieces of the stream.

/// Finds the ends of values in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Splitter {
    /// Bytes of the value that have been scanned.
    scanned: usize,
    depth: usize,
    state: Position,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Position {
    /// The value has not begun.
    #[default]
    Before,
    /// In arrays or objects.
    Nested,
    InString,
    AfterBackslash,
    /// In a number or a word.
    Word,
}

impl Splitter {
    /// The length of the value at the front of `bytes`, with the blanks before it; `None` if it
    /// is not complete. After a value, the next call starts with the text after it.
    pub fn split(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate().skip(self.scanned) {
            let blank = matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
            self.state = match self.state {
                Position::Before if blank => Position::Before,
                Position::Word if blank => return self.end(at),
                Position::Word => Position::Word,
                Position::AfterBackslash => Position::InString,
                Position::InString => match byte {
                    b'"' if self.depth == 0 => return self.end(at + 1),
                    b'"' => Position::Nested,
                    b'\\' => Position::AfterBackslash,
                    _ => Position::InString,
                },
                Position::Before | Position::Nested => match byte {
                    b'"' => Position::InString,
                    b'{' | b'[' => {
                        self.depth += 1;
                        Position::Nested
                    }
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return self.end(at + 1);
                        }
                        Position::Nested
                    }
                    _ if self.depth == 0 => Position::Word,
                    _ => Position::Nested,
                },
            };
        }
        self.scanned = bytes.len();
        None
    }

    /// At the end of the stream: true if `bytes`, which are no complete value, are only blanks.
    pub fn is_blank(&self) -> bool {
        self.state == Position::Before
    }

    fn end(&mut self, length: usize) -> Option<usize> {
        *self = Splitter::default();
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_pieces_of_any_size() {
        let text = br#" {"a":"}\"{",
"b":[{}]}{}["x"]"a\"b" 12 null "#;
        let expected: [&[u8]; 6] = [
            b" {\"a\":\"}\\\"{\",\n\"b\":[{}]}",
            b"{}",
            b"[\"x\"]",
            b"\"a\\\"b\"",
            b" 12",
            b" null",
        ];
        for piece in 1..=text.len() {
            let (mut splitter, mut found, mut start) = (Splitter::default(), Vec::new(), 0);
            for end in (piece..).step_by(piece).map(|end| end.min(text.len())) {
                while let Some(length) = splitter.split(&text[start..end]) {
                    found.push(&text[start..start + length]);
                    start += length;
                }
                if end == text.len() {
                    break;
                }
            }
            assert_eq!(found, expected, "pieces of {piece}");
            assert!(splitter.is_blank());
        }
        let mut splitter = Splitter::default();
        assert_eq!(splitter.split(b"{\"a\""), None);
        assert!(!splitter.is_blank());
    }
}
