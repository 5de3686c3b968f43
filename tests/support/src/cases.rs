//! Files of cases: many small sources, each with what is expected of it, in one file.
//!
//! ```text
//! ==== NAME
//! the source
//! ---- expected
//! what is found
//! ```
//! A line that begins with one of the two marks ends what is above it. Each line of a source and of
//! what is expected has its end.

use std::path::Path;

/// The ending of their names.
pub const ENDING: &str = "cases";

const CASE: &str = "==== ";
const EXPECTED: &str = "---- expected\n";

/// A source, and what is expected of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// What the source would be called as a file.
    pub name: String,
    /// The source.
    pub source: String,
    /// What is expected.
    pub expected: String,
}

/// The cases of a file.
pub fn read(path: &Path) -> Vec<Case> {
    parse(&crate::text(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cases of a text, or the line that fits nowhere.
pub fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut is_expected = false;
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix(CASE) {
            let name = name.trim_end().to_owned();
            cases.push(Case { name, source: String::new(), expected: String::new() });
            is_expected = false;
        } else if line == EXPECTED {
            is_expected = true;
        } else {
            let case = cases.last_mut().ok_or_else(|| format!("before the first case: {line}"))?;
            let part = if is_expected { &mut case.expected } else { &mut case.source };
            part.push_str(line);
        }
    }
    Ok(cases)
}

/// The text of cases.
pub fn print(cases: &[Case]) -> String {
    let print =
        |case: &Case| format!("{CASE}{}\n{}{EXPECTED}{}", case.name, case.source, case.expected);
    cases.iter().map(print).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_as_they_are_printed() {
        let case = |name: &str, source: &str, expected: &str| Case {
            name: name.to_owned(),
            source: source.to_owned(),
            expected: expected.to_owned(),
        };
        let cases =
            [case("a.x", "one\n\ntwo\n", "fine\n"), case("b.x", "", ""), case("c", "=\n", "-\n")];
        let text = print(&cases);
        assert_eq!(parse(&text).as_deref(), Ok(&cases[..]));
        assert_eq!(text.lines().next(), Some("==== a.x"));
        assert!(parse(&format!("lost\n{text}")).is_err());
    }
}
