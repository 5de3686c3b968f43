//! Standard error: diagnostics and notes.
//!
//! On a terminal diagnostics are coloured and show the lines at fault; elsewhere they are plain
//! lines that editors and scripts read: `FILE:LINE:COLUMN: error[CODE]: ...`. With `--log json`
//! every line is an object like those of the log.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use ariadne::{Config, IndexType, Label, Report, ReportKind};
use tidemill::summary::Summary;
use tidemill_diag::{Diagnostic, Severity, Sources, Span};
use tidemill_stdx::log::{JsonLine, Level, Value};
use tidemill_stdx::sort;

use crate::args::{Color, Origin};

/// The format of standard error.
#[derive(Clone, Copy, Debug)]
pub struct Reporter {
    fancy: bool,
    quiet: bool,
    json: bool,
    origin: Option<&'static Origin>,
}

impl Reporter {
    /// From the global options.
    pub fn new(color: Color, quiet: bool) -> Reporter {
        let fancy = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        };
        Reporter { fancy, quiet, json: false, origin: None }
    }

    /// With the settings from which the command has options.
    pub fn with_origin(self, origin: Option<&'static Origin>) -> Reporter {
        Reporter { origin, ..self }
    }

    /// The settings from which the command has options.
    pub fn origin(self) -> Option<&'static Origin> {
        self.origin
    }

    /// As JSON objects, a line each.
    pub fn json(self) -> Reporter {
        Reporter { json: true, ..self }
    }

    /// Without warnings and notes: for what has been reported once.
    pub fn only_errors(self) -> Reporter {
        Reporter { quiet: true, ..self }
    }

    /// A stream for the notes of runs, written in whole lines.
    pub fn notes(self) -> Box<dyn Write> {
        if self.json { Box::new(JsonNotes { line: Vec::new() }) } else { Box::new(io::stderr()) }
    }

    fn line(self, level: Level, text: &str) {
        if self.json {
            json_line(level, text.strip_prefix("tidemill: ").unwrap_or(text), &[]);
        } else {
            // If standard error is closed, there is nowhere to report that.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Prints the summary of a run.
    pub fn summary(self, summary: &Summary) {
        if !self.quiet {
            self.line(Level::Info, &summary.to_string());
        }
    }

    /// Prints a note.
    pub fn note(self, text: &str) {
        if !self.quiet {
            self.line(Level::Info, &format!("tidemill: {text}"));
        }
    }

    /// Whether notes are suppressed.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Prints a note of several lines.
    pub fn block(self, lines: impl fmt::Display) {
        if !self.quiet {
            // If standard error is closed, there is nowhere to report that.
            let _ = write!(self.notes(), "{lines}");
        }
    }

    /// Prints a warning.
    pub fn warn(self, text: &str) {
        if !self.quiet {
            self.line(Level::Warn, &format!("tidemill: {}{text}", self.warning()));
        }
    }

    /// The prefix of warnings, in text form.
    fn warning(self) -> &'static str {
        if self.json { "" } else { "warning: " }
    }

    /// Prints an error.
    pub fn error(self, text: &str) {
        self.line(Level::Error, &format!("tidemill: {text}"));
    }

    /// Prints a finding about an input other than a source: a line with its place.
    pub fn plain(self, text: &str) {
        self.line(Level::Warn, text);
    }

    /// Prints findings about sources, errors and warnings.
    pub fn diagnostics(self, sources: &Sources, diagnostics: &[Diagnostic]) {
        let mut out = Vec::new();
        for diagnostic in diagnostics.iter().filter(|one| !self.quiet || one.is_error()) {
            if self.json {
                json_diagnostic(sources, diagnostic);
            } else if self.fancy {
                write_fancy(&mut out, sources, diagnostic);
            } else {
                out.extend_from_slice(sources.render(diagnostic).as_bytes());
            }
        }
        // If standard error is closed, there is nowhere to report that.
        let _ = io::stderr().write_all(&out);
    }
}

/// Nanoseconds since the Unix epoch.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn json_line(level: Level, message: &str, fields: &[(&str, Value)]) {
    let mut out = String::new();
    let (time_ns, target) = (now_ns(), "tidemill");
    JsonLine { time_ns, level, target, message, fields, place: None }.append(&mut out);
    // In one write, so that lines stay whole. A closed standard error is ignored.
    let _ = io::stderr().write_all(out.as_bytes());
}

fn json_diagnostic(sources: &Sources, diagnostic: &Diagnostic) {
    let level = if diagnostic.is_error() { Level::Error } else { Level::Warn };
    let text = sources.render(diagnostic);
    json_line(level, text.trim_end(), &[("code", Value::Text(diagnostic.code.to_string()))]);
}

/// Converts lines of text to objects.
struct JsonNotes {
    line: Vec<u8>,
}

impl Write for JsonNotes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&self.line);
                json_line(Level::Info, line.trim_end(), &[]);
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A span in the form of ariadne: the name of the file and a range of bytes.
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
    sort::by(&mut files, Ord::cmp);
    files.dedup();
    // Writing to memory cannot fail.
    let _ = report.finish().write(ariadne::sources(files), out);
}
