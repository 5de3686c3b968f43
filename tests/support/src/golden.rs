//! Golden files: the result of a test is compared with a file beside its source. `BLESS=1` rewrites
//! the files.
//!
//! A missing file and an empty one are the same. Of files of cases, each case is compared.

use std::path::Path;

use crate::cases::{self, Case};

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

/// Compares the cases in a folder, of which there must be `count_min`, with what is found: `run`
/// replaces its sections, or what else of it is expected. It also gets its place, for messages.
pub fn check_cases(
    folder: &str,
    count_min: usize,
    mut run: impl FnMut(&mut Case, &str, &mut Golden),
) {
    let mut golden = Golden::default();
    for (path, mut cases) in cases::folder(folder, count_min) {
        for case in &mut cases {
            let place = case.place(&path);
            run(case, &place, &mut golden);
        }
        golden.check_cases(&path, &cases);
    }
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
                difference(&String::from_utf8_lossy(&expected), &String::from_utf8_lossy(found), 1);
            self.wrong.push(format!("{path}\n{difference}"));
            return;
        }
        let written =
            if found.is_empty() { std::fs::remove_file(path) } else { std::fs::write(path, found) };
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Records the differences between the cases of a file and the same cases as they are found.
    pub fn check_cases(&mut self, path: &Path, found: &[Case]) {
        let printed = cases::print(found);
        if blesses() || crate::text(path) == printed {
            return self.check(path, printed);
        }
        let (expected, before) = (cases::read(path), self.wrong.len());
        for (old, new) in expected.iter().zip(found).filter(|(old, new)| old != new) {
            let [old_text, new_text] = [old, new].map(|it| cases::print(std::slice::from_ref(it)));
            let difference = difference(&old_text, &new_text, old.line);
            self.wrong.push(format!("{}\n{difference}", old.place(path)));
        }
        // The same cases in another form, such as a section without lines.
        if self.wrong.len() == before {
            self.check(path, printed);
        }
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

/// The missing (`-`) and new (`+`) lines, with context, after their numbers from `first` on.
pub fn difference(expected: &str, found: &str, first: usize) -> String {
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
        .map(|(mark, number, line)| format!("{:5} {mark}{line}", number - 1 + first))
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
            table[i * width + j] = if a[i] == b[j] {
                table[(i + 1) * width + j + 1] + 1
            } else {
                table[(i + 1) * width + j].max(table[i * width + j + 1])
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
        assert_eq!(difference(old, new, 1), expected);
        assert_eq!(difference("", "x", 1), "    1 -\n    1 +x");
        assert_eq!(difference("a\nb", "a\nc", 40), "   40  a\n   41 -b\n   41 +c");
    }

    #[test]
    fn a_case_is_named_with_its_line() {
        let path =
            std::env::temp_dir().join(format!("tidemill-golden-cases-{}", std::process::id()));
        std::fs::write(&path, "==== a\n1\n==== b\n2\n---- out\n3\n").expect("writable");
        let mut found = cases::read(&path);
        let mut golden = Golden::default();
        golden.check_cases(&path, &found);
        assert_eq!(golden.wrong, [""; 0]);
        found[1].set_section("out", "4\n");
        golden.check_cases(&path, &found);
        let expected = format!(
            "{}:3: b\n    4  2\n    5  ---- out\n    6 -3\n    6 +4\n    7  ",
            path.display()
        );
        if blesses() {
            assert_eq!(cases::read(&path)[1].section("out"), "4\n")
        } else {
            assert_eq!(golden.wrong, [expected])
        }
        golden.wrong.clear();
        std::fs::remove_file(&path).expect("removable");
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
