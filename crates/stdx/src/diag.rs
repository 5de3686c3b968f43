//! Diagnostics: what is wrong with a source, where, and what would help.
//!
//! A front end returns `(value, Vec<Diagnostic>)`: several per run, each with the span that is at
//! fault. Text form (`contracts.md`): `FILE:LINE:COLUMN: error[CODE]: MESSAGE`, columns counted in
//! characters from 1. The coloured form with source excerpts belongs to the command line.

use std::fmt::{self, Write as _};
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

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The program cannot run.
    Error,
    /// The program runs, but probably not as meant.
    Warning,
}

/// One finding about a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable kebab-case name of the class, for example `unbound-variable`.
    pub code: &'static str,
    /// One sentence without a final period.
    pub message: String,
    /// The place at fault.
    pub span: Span,
    /// Further places that explain it.
    pub labels: Vec<(Span, String)>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error of class `code` at `span`.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            labels: Vec::new(),
            help: None,
        }
    }

    /// A warning of class `code` at `span`.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// Adds a further place that explains the finding.
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push((span, message.into()));
        self
    }

    /// Says what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// True for errors, false for warnings.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// True if one of `diagnostics` is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// One source text and where its lines start, which is found out when somebody asks: mostly
/// nobody does, as there is nothing to say.
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

/// A place as people read it; both count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
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

    /// The whole text of a file.
    pub fn text(&self, file: FileId) -> &str {
        &self.files[file.0 as usize].text
    }

    /// The text that a span covers, empty where it points outside.
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Line and column of a span's first byte.
    pub fn place(&self, span: Span) -> Place {
        let source = &self.files[span.file.0 as usize];
        let starts = source.line_starts();
        let line = starts.partition_point(|&start| start <= span.start) - 1;
        let from = starts[line] as usize;
        let to = (span.start as usize).clamp(from, source.text.len());
        let column = source.text.as_bytes()[from..to].iter().filter(|&&b| b & 0xC0 != 0x80).count();
        Place { line: line as u32 + 1, column: column as u32 + 1 }
    }

    /// The plain text form of one diagnostic, with labels and help on lines of their own.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let mut out = String::new();
        self.write(&mut out, diagnostic).expect("writing to a string cannot fail");
        out
    }

    fn write(&self, out: &mut String, diagnostic: &Diagnostic) -> fmt::Result {
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        self.write_place(out, diagnostic.span)?;
        writeln!(out, ": {severity}[{}]: {}", diagnostic.code, diagnostic.message)?;
        for (span, message) in &diagnostic.labels {
            out.push_str("  ");
            self.write_place(out, *span)?;
            writeln!(out, ": note: {message}")?;
        }
        if let Some(help) = &diagnostic.help {
            writeln!(out, "  help: {help}")?;
        }
        Ok(())
    }

    fn write_place(&self, out: &mut String, span: Span) -> fmt::Result {
        let Place { line, column } = self.place(span);
        write!(out, "{}:{line}:{column}", self.name(span.file))
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
        assert_eq!(sources.place(span), Place { line: 2, column: 5 });
        let diagnostic = Diagnostic::error("unbound-variable", span, "no binding").help("bind it");
        assert_eq!(
            sources.render(&diagnostic),
            "a.olg:2:5: error[unbound-variable]: no binding\n  help: bind it\n"
        );
    }

    #[test]
    fn a_span_past_the_end_is_the_end() {
        let mut sources = Sources::new();
        let file = sources.add("a", "x");
        let span = Span { file, start: 9, end: 9 };
        assert_eq!(sources.place(span), Place { line: 1, column: 2 });
        assert_eq!(sources.slice(span), "");
    }
}
