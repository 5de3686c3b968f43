//! What goes to standard error: diagnostics and notes.
//!
//! On a terminal diagnostics are coloured and show the lines at fault; elsewhere they are plain
//! lines that editors and scripts read: `FILE:LINE:COLUMN: error[CODE]: ...`.

use std::io::{self, IsTerminal, Write};

use ariadne::{Config, IndexType, Label, Report, ReportKind};
use tidemill::summary::Summary;
use tidemill_stdx::diag::{Diagnostic, Severity, Sources, Span};

use crate::args::Color;

/// How standard error is written.
#[derive(Clone, Copy, Debug)]
pub struct Reporter {
    fancy: bool,
    quiet: bool,
}

impl Reporter {
    /// As the global options say.
    pub fn new(color: Color, quiet: bool) -> Reporter {
        let fancy = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        };
        Reporter { fancy, quiet }
    }

    /// What a run amounts to.
    pub fn summary(self, summary: &Summary) {
        if !self.quiet {
            line(&summary.to_string());
        }
    }

    /// Something worth knowing.
    pub fn note(self, text: &str) {
        if !self.quiet {
            line(&format!("tidemill: {text}"));
        }
    }

    /// Something that may be meant otherwise.
    pub fn warn(self, text: &str) {
        if !self.quiet {
            line(&format!("tidemill: warning: {text}"));
        }
    }

    /// Why it failed.
    pub fn error(self, text: &str) {
        line(&format!("tidemill: {text}"));
    }

    /// A finding about an input that is no source: a line with its place.
    pub fn plain(self, text: &str) {
        line(text);
    }

    /// Findings about sources, errors and warnings.
    pub fn diagnostics(self, sources: &Sources, diagnostics: &[Diagnostic]) {
        let mut out = Vec::new();
        for diagnostic in diagnostics.iter().filter(|one| !self.quiet || one.is_error()) {
            match self.fancy {
                true => write_fancy(&mut out, sources, diagnostic),
                false => out.extend_from_slice(sources.render(diagnostic).as_bytes()),
            }
        }
        // If standard error is gone there is nobody to tell.
        let _ = io::stderr().write_all(&out);
    }
}

fn line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A span as ariadne takes it: the file's name and a range of bytes.
type Range = (String, std::ops::Range<usize>);

fn range(sources: &Sources, span: Span) -> Range {
    let length = sources.text(span.file).len();
    let start = (span.start as usize).min(length);
    let end = (span.end as usize).clamp(start, length);
    (sources.name(span.file).to_owned(), start..end)
}

fn write_fancy(out: &mut Vec<u8>, sources: &Sources, diagnostic: &Diagnostic) {
    let kind = match diagnostic.severity {
        Severity::Error => ReportKind::Error,
        Severity::Warning => ReportKind::Warning,
    };
    let color = match diagnostic.severity {
        Severity::Error => ariadne::Color::Red,
        Severity::Warning => ariadne::Color::Yellow,
    };
    let config = Config::default().with_index_type(IndexType::Byte);
    let main = range(sources, diagnostic.span);
    let mut report = Report::build(kind, main.clone())
        .with_config(config)
        .with_code(diagnostic.code)
        .with_message(&diagnostic.message)
        .with_label(Label::new(main).with_message(&diagnostic.message).with_color(color));
    for (span, message) in &diagnostic.labels {
        let label = Label::new(range(sources, *span)).with_message(message);
        report = report.with_label(label.with_color(ariadne::Color::Cyan));
    }
    if let Some(help) = &diagnostic.help {
        report = report.with_help(help);
    }
    let spans = std::iter::once(diagnostic.span).chain(diagnostic.labels.iter().map(|one| one.0));
    let mut files: Vec<(String, String)> = spans
        .map(|span| (sources.name(span.file).to_owned(), sources.text(span.file).to_owned()))
        .collect();
    files.sort();
    files.dedup();
    // Writing to memory cannot fail.
    let _ = report.finish().write(ariadne::sources(files), out);
}
