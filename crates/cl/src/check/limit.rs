//! How many diagnostics of a program are shown: errors before warnings, and the rest is counted.

use tidemill_diag::{Diagnostic, MORE_FINDINGS, Severity, Span};

/// At most `most` of the diagnostics, in their order. A warning is left out before any error is,
/// so what has an error keeps one. If some are left out, a last diagnostic says how many.
pub(super) fn errors_first(diagnostics: Vec<Diagnostic>, most: usize) -> Vec<Diagnostic> {
    if diagnostics.len() <= most {
        return diagnostics;
    }
    let errors = diagnostics.iter().filter(|it| it.is_error()).count().min(most);
    let (mut room_errors, mut room_warnings) = (errors, most - errors);
    let (mut left_errors, mut left_warnings) = (LeftOut::default(), LeftOut::default());
    let mut shown = Vec::with_capacity(most + 1);
    for it in diagnostics {
        let (room, left) = match it.severity {
            Severity::Error => (&mut room_errors, &mut left_errors),
            Severity::Warning => (&mut room_warnings, &mut left_warnings),
        };
        match room.checked_sub(1) {
            Some(fewer) => {
                *room = fewer;
                shown.push(it);
            }
            None => left.add(it.span),
        }
    }
    shown.extend(closing(&left_errors, &left_warnings));
    shown
}

/// The diagnostics of one severity that are not shown.
#[derive(Default)]
struct LeftOut {
    count: usize,
    first: Option<Span>,
}

impl LeftOut {
    fn add(&mut self, span: Span) {
        self.count += 1;
        self.first.get_or_insert(span);
    }

    /// `3 more errors`; none without any.
    fn words(&self, what: &str) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(format!("1 more {what}")),
            count => Some(format!("{count} more {what}s")),
        }
    }
}

/// What is not shown, placed where it begins.
fn closing(errors: &LeftOut, warnings: &LeftOut) -> Option<Diagnostic> {
    let words = [errors.words("error"), warnings.words("warning")];
    let words: Vec<String> = words.into_iter().flatten().collect();
    let message = format!("not shown: {}", words.join(" and "));
    match (errors.first, warnings.first) {
        (Some(span), _) => Some(Diagnostic::error(MORE_FINDINGS, span, message)),
        (None, Some(span)) => Some(Diagnostic::warning(MORE_FINDINGS, span, message)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_diag::FileId;

    /// `e` is an error and `w` a warning, each at its place in the text.
    fn found(text: &str) -> Vec<Diagnostic> {
        let one = |(at, severity)| {
            let span = Span { file: FileId(0), start: at, end: at };
            match severity {
                'e' => Diagnostic::error("type", span, ""),
                _ => Diagnostic::warning("unreachable", span, ""),
            }
        };
        (0..).zip(text.chars()).map(one).collect()
    }

    /// What is shown: severity and place, then the closing message.
    fn shown(text: &str, most: usize) -> String {
        let word = |it: &Diagnostic| {
            let severity = if it.is_error() { 'e' } else { 'w' };
            format!("{severity}{} {}", it.span.start, it.message).trim_end().to_owned()
        };
        let all: Vec<String> = errors_first(found(text), most).iter().map(word).collect();
        all.join(", ")
    }

    #[test]
    fn warnings_make_room_for_errors() {
        assert_eq!(shown("", 2), "");
        assert_eq!(shown("we", 2), "w0, e1");
        assert_eq!(shown("wwe", 2), "w0, e2, w1 not shown: 1 more warning");
        assert_eq!(shown("wwwee", 2), "e3, e4, w0 not shown: 3 more warnings");
        assert_eq!(shown("wewewe", 2), "e1, e3, e5 not shown: 1 more error and 3 more warnings");
        assert_eq!(shown("eee", 1), "e0, e1 not shown: 2 more errors");
        assert_eq!(shown("www", 1), "w0, w1 not shown: 2 more warnings");
    }
}
