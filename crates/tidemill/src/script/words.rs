//! Splits a line of a script into words with spans.

use std::fmt;

use tidemill_diag::{Diagnostic, FileId, Span};

/// Reads one line from left to right.
#[derive(Clone, Debug)]
pub(super) struct Words<'t> {
    file: FileId,
    text: &'t str,
    /// The offset of the line in the file.
    start: usize,
    pos: usize,
}

impl<'t> Words<'t> {
    /// A line at byte `start` of its file; its comment is cut off.
    pub(super) fn new(file: FileId, start: usize, line: &'t str) -> Words<'t> {
        Words { file, text: line[..comment(line)].trim_end(), start, pos: 0 }
    }

    /// The span of some bytes of the line.
    pub(super) fn span(&self, from: usize, to: usize) -> Span {
        let place = |at| u32::try_from(self.start + at).unwrap_or(u32::MAX);
        Span { file: self.file, start: place(from), end: place(to) }
    }

    /// The rest of the line, trimmed, and its span.
    pub(super) fn rest(&mut self) -> (&'t str, Span) {
        self.skip_blanks();
        let from = self.pos;
        self.pos = self.text.len();
        (&self.text[from..], self.span(from, self.text.len()))
    }

    /// The result of [`Words::rest`], without consuming it.
    pub(super) fn peek_rest(&mut self) -> &'t str {
        self.skip_blanks();
        &self.text[self.pos..]
    }

    /// The next word; empty at the end of the line.
    pub(super) fn word(&mut self) -> (&'t str, Span) {
        self.skip_blanks();
        let from = self.pos;
        let rest = &self.text[from..];
        self.pos += rest.find(char::is_whitespace).unwrap_or(rest.len());
        (&self.text[from..self.pos], self.span(from, self.pos))
    }

    /// Parses the next word by `read`, whose error becomes a diagnostic.
    pub(super) fn read<T, E: fmt::Display>(
        &mut self,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Diagnostic> {
        let (word, span) = self.word();
        read(word).map_err(|error| Diagnostic::error("script-syntax", span, error.to_string()))
    }

    /// Requires the next word to be this one.
    pub(super) fn expect(&mut self, wanted: &str) -> Result<(), Diagnostic> {
        let (word, span) = self.word();
        if word == wanted {
            Ok(())
        } else {
            Err(unexpected_word(word, span, &format!("`{wanted}`")))
        }
    }

    /// Requires the end of the line.
    pub(super) fn end(&mut self) -> Result<(), Diagnostic> {
        match self.rest() {
            ("", _) => Ok(()),
            (rest, span) => {
                let message = format!("`{rest}` is left over");
                Err(Diagnostic::error("script-syntax", span, message))
            }
        }
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.pos..];
        self.pos += rest.len() - rest.trim_start().len();
    }
}

/// The error for an unexpected word.
pub(super) fn unexpected_word(word: &str, span: Span, wanted: &str) -> Diagnostic {
    let message = match word {
        "" => format!("expected {wanted}, found the end of the line"),
        word => format!("expected {wanted}, found `{word}`"),
    };
    Diagnostic::error("script-syntax", span, message)
}

/// The offset of a line's comment: at a `#` outside of texts, else at the end.
fn comment(line: &str) -> usize {
    let mut inside = false;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            '#' if !inside => return at,
            _ => {}
        }
    }
    line.len()
}
