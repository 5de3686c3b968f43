//! Diagnostics: what is wrong with a source, where, and how to fix it.
//!
//! A front end returns `(value, Vec<Diagnostic>)`: several per run, each with the span that is at
//! fault. Text form: `FILE:LINE:COLUMN: error[CODE]: MESSAGE`, columns counted in
//! characters from 1. The coloured form with source excerpts belongs to the command line.

use std::fmt::{self, Write as _};

use crate::source::{LineColumn, Sources, Span};

/// The severity of a diagnostic.
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
    /// The severity.
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

/// The code of the diagnostic that others are left out.
pub const MORE_FINDINGS: &str = "more-findings";

/// The error that a text is given up after `most` errors, where the next one is or may be.
pub fn given_up(most: usize, span: Span) -> Diagnostic {
    let message = format!("given up after {most} errors: there may be more");
    Diagnostic::error(MORE_FINDINGS, span, message)
}

/// Adds a diagnostic to those of a text, of which there are at most `most` errors and as many
/// warnings: the first one beyond that says so, and further ones are dropped. Returns false when an
/// error is one too many, and reading should stop.
pub fn add_limited(diagnostics: &mut Vec<Diagnostic>, most: usize, diagnostic: Diagnostic) -> bool {
    let is_alike = |it: &&Diagnostic| it.severity == diagnostic.severity;
    if diagnostics.iter().filter(is_alike).count() < most {
        diagnostics.push(diagnostic);
        return true;
    }
    let says_so = |it: &Diagnostic| is_alike(&it) && it.code == MORE_FINDINGS;
    if !diagnostics.iter().any(says_so) {
        let message = "there are more warnings, which are not shown";
        diagnostics.push(match diagnostic.severity {
            Severity::Error => given_up(most, diagnostic.span),
            Severity::Warning => Diagnostic::warning(MORE_FINDINGS, diagnostic.span, message),
        });
    }
    !diagnostic.is_error()
}

/// True if one of `diagnostics` is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

impl Sources {
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
        let LineColumn { line, column } = self.place(span);
        write!(out, "{}:{line}:{column}", self.name(span.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    #[test]
    fn what_is_left_out_is_said_once_for_errors_and_once_for_warnings() {
        let mut found = Vec::new();
        let mut goes_on = String::new();
        for (start, severity) in (0..).zip("wwwweweee".chars()) {
            let span = Span { file: FileId(0), start, end: start };
            let one = match severity {
                'e' => Diagnostic::error("type", span, ""),
                _ => Diagnostic::warning("unused", span, ""),
            };
            goes_on.push(if add_limited(&mut found, 2, one) { '+' } else { '-' });
        }
        assert_eq!(goes_on, "+++++++--");
        let shown = |it: &Diagnostic| (it.span.start, it.code, it.is_error());
        let expected = [
            (0, "unused", false),
            (1, "unused", false),
            (2, MORE_FINDINGS, false),
            (4, "type", true),
            (6, "type", true),
            (7, MORE_FINDINGS, true),
        ];
        assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn help_stands_on_a_line_of_its_own() {
        let mut sources = Sources::new();
        let file = sources.add("a.olg", "föö\nbär baz\n");
        let span = Span { file, start: 11, end: 14 };
        let diagnostic = Diagnostic::error("unbound-variable", span, "no binding").help("bind it");
        assert_eq!(
            sources.render(&diagnostic),
            "a.olg:2:5: error[unbound-variable]: no binding\n  help: bind it\n"
        );
    }
}
