//! Golden files: the result of a test is compared with a file beside its source. `BLESS=1` rewrites
//! the files.
//!
//! A missing file and an empty one are the same.

use std::path::Path;

/// Lines of context around a difference.
const CONTEXT: usize = 2;
/// The maximum number of lines shown of a difference.
const LINES_MAX: usize = 60;
/// The maximum number of line comparisons.
const CELLS_MAX: usize = 1 << 20;

/// Whether files are rewritten instead of compared.
pub fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Fails if the file differs from the result.
pub fn check(path: &Path, found: impl AsRef<[u8]>) {
    Golden::default().check(path, found);
}

/// Several comparisons: the test fails when this is dropped, and reports all differences.
#[derive(Debug, Default)]
pub struct Golden {
    wrong: Vec<String>,
}

impl Golden {
    /// Records a difference between the file and the result.
    pub fn check(&mut self, path: &Path, found: impl AsRef<[u8]>) {
        let (expected, found) = (std::fs::read(path).unwrap_or_default(), found.as_ref());
        if expected == found {
            return;
        }
        if !blesses() {
            let path = path.display();
            let difference =
                difference(&String::from_utf8_lossy(&expected), &String::from_utf8_lossy(found));
            self.wrong.push(format!("{path}\n{difference}"));
            return;
        }
        let written = match found.is_empty() {
            true => std::fs::remove_file(path),
            false => std::fs::write(path, found),
        };
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Records another failure.
    pub fn fail(&mut self, message: impl Into<String>) {
        self.wrong.push(message.into());
    }
}

impl Drop for Golden {
    fn drop(&mut self) {
        if !self.wrong.is_empty() && !std::thread::panicking() {
            panic!("differ (BLESS=1 accepts them):\n{}", self.wrong.join("\n"));
        }
    }
}

/// The missing (`-`) and new (`+`) lines, with context, after their numbers.
fn difference(expected: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (expected.split('\n').collect(), found.split('\n').collect());
    let lines = edits(&old, &new);
    let is_near = |at: usize| {
        let around = at.saturating_sub(CONTEXT)..lines.len().min(at + CONTEXT + 1);
        lines[around].iter().any(|(mark, _, _)| *mark != ' ')
    };
    let near = (0..lines.len()).filter(|&at| is_near(at));
    let mut shown: Vec<String> = near
        .map(|at| lines[at])
        .map(|(mark, number, line)| format!("{number:5} {mark}{line}"))
        .collect();
    if shown.len() > LINES_MAX {
        let more = shown.len() - LINES_MAX;
        shown.truncate(LINES_MAX);
        shown.push(format!("      ({more} lines more)"));
    }
    shown.join("\n")
}

/// The lines of both, each with its mark and its number from 1.
fn edits<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, usize, &'t str)> {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[before..], &new[before..]);
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - behind], &b[..b.len() - behind]);
    let common = common(a, b);
    let (mut i, mut j) = (0, 0);
    let mut out: Vec<_> = (0..before).map(|at| (' ', at + 1, new[at])).collect();
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            out.push((' ', before + j + 1, b[j]));
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || common(i + 1, j) >= common(i, j + 1)) {
            out.push(('-', before + i + 1, a[i]));
            i += 1;
        } else {
            out.push(('+', before + j + 1, b[j]));
            j += 1;
        }
    }
    out.extend((new.len() - behind..new.len()).map(|at| (' ', at + 1, new[at])));
    out
}

/// The number of common lines of the rests of two texts, from a line of each on; for very long
/// texts none.
fn common(a: &[&str], b: &[&str]) -> impl Fn(usize, usize) -> usize {
    let width = b.len() + 1;
    let mut table = Vec::new();
    if a.len() * b.len() <= CELLS_MAX {
        table.resize((a.len() + 1) * width, 0);
        for (i, j) in (0..a.len()).rev().flat_map(|i| (0..b.len()).rev().map(move |j| (i, j))) {
            table[i * width + j] = match a[i] == b[j] {
                true => table[(i + 1) * width + j + 1] + 1,
                false => table[(i + 1) * width + j].max(table[i * width + j + 1]),
            };
        }
    }
    move |i, j| table.get(i * width + j).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shown_with_what_is_around() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let new = "a\nb\nc\nD\ne\nf\ng\nh\ni\nk\nj\n";
        let expected = "    2  b\n    3  c\n    4 -d\n    4 +D\n    5  e\n    6  f\n    8  h\n    9  i\n\
                        \u{20}  10 +k\n   11  j\n   12  ";
        assert_eq!(difference(old, new), expected);
        assert_eq!(difference("", "x"), "    1 -\n    1 +x");
    }

    #[test]
    fn a_file_is_compared() {
        let path = std::env::temp_dir().join(format!("tidemill-golden-{}", std::process::id()));
        std::fs::write(&path, "one\n").expect("writable");
        check(&path, "one\n");
        let failed = std::panic::catch_unwind(|| check(&path, "two\n"));
        std::fs::remove_file(&path).expect("removable");
        assert_eq!(failed.is_err(), !blesses());
        check(&path, "");
    }
}
