//! Source texts, and places in them.

use std::sync::OnceLock;

/// A file of [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A range of bytes in one source file: `start..end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The smallest span that covers both; `self` where the files differ.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// One source text and where its lines start, which is computed on first use: sources without
/// diagnostics never need it.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    line_starts: OnceLock<Vec<u32>>,
}

impl Source {
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let ends = self.text.match_indices('\n');
            std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect()
        })
    }
}

/// The texts that spans point into.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

/// A place as it is printed; both count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Sources {
    /// No texts yet.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds a text under the name that diagnostics print.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let (name, text) = (name.into(), text.into());
        self.files.push(Source { name, text, line_starts: OnceLock::new() });
        FileId(self.files.len() as u32 - 1)
    }

    /// The name of a file.
    pub fn name(&self, file: FileId) -> &str {
        &self.files[file.0 as usize].name
    }

    /// The names of all files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| &*file.name)
    }

    /// The whole text of a file.
    pub fn text(&self, file: FileId) -> &str {
        &self.files[file.0 as usize].text
    }

    /// The text that a span covers, empty where it points outside.
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Line and column of a span's first byte.
    pub fn place(&self, span: Span) -> LineColumn {
        let source = &self.files[span.file.0 as usize];
        let starts = source.line_starts();
        let line = starts.partition_point(|&start| start <= span.start) - 1;
        let from = starts[line] as usize;
        let to = (span.start as usize).clamp(from, source.text.len());
        let column = source.text.as_bytes()[from..to].iter().filter(|&&b| b & 0xC0 != 0x80).count();
        LineColumn { line: line as u32 + 1, column: column as u32 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_from_one() {
        let mut sources = Sources::new();
        let file = sources.add("a.olg", "föö\nbär baz\n");
        let span = Span { file, start: 11, end: 14 };
        assert_eq!(sources.slice(span), "baz");
        assert_eq!(sources.place(span), LineColumn { line: 2, column: 5 });
    }

    #[test]
    fn a_span_past_the_end_is_the_end() {
        let mut sources = Sources::new();
        let file = sources.add("a", "x");
        let span = Span { file, start: 9, end: 9 };
        assert_eq!(sources.place(span), LineColumn { line: 1, column: 2 });
        assert_eq!(sources.slice(span), "");
    }
}
