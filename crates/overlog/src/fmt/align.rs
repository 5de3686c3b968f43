//! Comments after neighbouring lines, one below the other.

use super::measures::WIDTH;

/// A line, cut before the blank of its trailing comment.
struct CodeLine<'a> {
    code: &'a str,
    comment: Option<&'a str>,
}

impl CodeLine<'_> {
    fn code_width(&self) -> usize {
        self.code.chars().count()
    }

    fn comment_width(&self) -> usize {
        self.comment.map_or(0, |comment| comment.chars().count())
    }
}

/// Moves the trailing comments of each run of neighbouring lines to one column, unless that makes
/// a line too long. `trailing` are the ascending byte offsets in `text` of the blanks before them.
pub(super) fn align(text: &str, trailing: &[usize]) -> String {
    let mut trailing = trailing.iter().copied().peekable();
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let cut = trailing.next_if(|&at| at < end).map(|at| at - start);
        // Two comments on one line: the first is the one that is moved.
        while trailing.next_if(|&at| at < end).is_some() {}
        lines.push(match cut {
            Some(cut) => CodeLine { code: &line[..cut], comment: Some(&line[cut..]) },
            None => CodeLine { code: line, comment: None },
        });
        start = end;
    }
    let mut out = String::with_capacity(text.len());
    for run in lines.chunk_by(|a, b| a.comment.is_some() && b.comment.is_some()) {
        let column = run.iter().map(CodeLine::code_width).max().unwrap_or(0);
        // A comment's width has its line end.
        let fits = run.iter().all(|line| column + line.comment_width() <= WIDTH + 1);
        for line in run {
            out.push_str(line.code);
            if let Some(comment) = line.comment {
                let pad = if fits { column - line.code_width() } else { 0 };
                out.extend(std::iter::repeat_n(' ', pad));
                out.push_str(comment);
            }
        }
    }
    out
}
