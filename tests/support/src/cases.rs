//! Files of cases: many small sources, each with its expected output, in one file.
//!
//! ```text
//! ==== NAME
//! the source
//! ---- expected
//! what is found
//! ```
//! A line that begins with one of the two marks ends what is above it. A case has any number of
//! sections, each with a name of its own (`out`, `err`); a missing one is empty. Each line of a
//! source and of a section has a newline; if the last one lacks it, `\ no end of line` follows.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The ending of such files.
pub const ENDING: &str = "cases";

const CASE: &str = "==== ";
const SECTION: &str = "---- ";
const UNENDED: &str = "\\ no end of line\n";

/// A source and its expected output.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Case {
    /// The name that the source would have as a file.
    pub name: String,
    /// The source.
    pub source: String,
    /// Names of sections with their texts, none of them empty.
    sections: Vec<(String, String)>,
}

impl Case {
    /// The text of a section, empty if it has none.
    pub fn section(&self, name: &str) -> &str {
        let found = self.sections.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, text)| text)
    }

    /// Replaces the section of this name, or appends it; an empty one is removed.
    pub fn set_section(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        match self.sections.iter().position(|(it, _)| it == name) {
            Some(at) if text.is_empty() => drop(self.sections.remove(at)),
            Some(at) => self.sections[at].1 = text,
            None if text.is_empty() => {}
            None => self.sections.push((name.to_owned(), text)),
        }
    }

    /// The text to which a line of the file belongs.
    fn last(&mut self) -> &mut String {
        self.sections.last_mut().map_or(&mut self.source, |(_, text)| text)
    }
}

/// The cases of a file.
pub fn read(path: &Path) -> Vec<Case> {
    parse(&crate::text(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of cases in a folder of the project, with their cases; there must be `count_min`
/// cases, with unique names. Nothing else may be there but a README, as it would not be tested.
pub fn folder(folder: &str, count_min: usize) -> Vec<(PathBuf, Vec<Case>)> {
    let entries = std::fs::read_dir(crate::root().join(folder));
    let entries = entries.unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths = entries.map(|entry| entry.expect("readable").path());
    let is_known = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == ENDING) || path.ends_with("README.md")
    };
    let stray = paths.find(|path| !is_known(path));
    assert_eq!(stray, None, "{folder} has files of cases");
    let files = crate::files(folder, ENDING, 1).into_iter();
    let files: Vec<_> = files.map(|path| (path.clone(), read(&path))).collect();
    let mut names: Vec<&str> =
        files.iter().flat_map(|(_, cases)| cases).map(|case| case.name.as_str()).collect();
    assert!(names.len() >= count_min, "{folder} has shrunk to {} cases", names.len());
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None, "{folder} has two cases of one name");
    files
}

/// Cases as files of a folder that is removed on drop.
#[derive(Debug)]
pub struct Unpacked(PathBuf);

impl Unpacked {
    /// Writes each source into a folder of its own, with this name in its name.
    pub fn new<'c>(name: &str, cases: impl IntoIterator<Item = &'c Case>) -> Unpacked {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("tidemill-{name}-{}-{number}", std::process::id());
        let unpacked = Unpacked(std::env::temp_dir().join(folder));
        std::fs::create_dir_all(unpacked.path())
            .unwrap_or_else(|error| panic!("{}: {error}", unpacked.path().display()));
        for case in cases {
            let path = unpacked.path().join(&case.name);
            let written = std::fs::write(&path, &case.source);
            written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        unpacked
    }

    /// Where they are.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // A remaining folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Parses cases; fails with the line that belongs to none.
pub fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix(CASE) {
            cases.push(Case { name: name.trim_end().to_owned(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().ok_or_else(|| format!("before the first case: {line}"))?;
        if let Some(name) = line.strip_prefix(SECTION) {
            case.sections.push((name.trim_end().to_owned(), String::new()));
        } else if line == UNENDED {
            case.last().pop();
        } else {
            case.last().push_str(line);
        }
    }
    Ok(cases)
}

/// Prints cases.
pub fn print(cases: &[Case]) -> String {
    let mut text = String::new();
    for case in cases {
        text += &format!("{CASE}{}\n{}", case.name, ended(&case.source));
        for (name, section) in &case.sections {
            text += &format!("{SECTION}{name}\n{}", ended(section));
        }
    }
    text
}

/// A text with a newline at its end.
fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        return text.to_owned();
    }
    format!("{text}\n{UNENDED}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_as_they_are_printed() {
        let case = |name: &str, source: &str, sections: &[(&str, &str)]| {
            let mut case =
                Case { name: name.to_owned(), source: source.to_owned(), ..Case::default() };
            sections.iter().for_each(|(name, text)| case.set_section(name, *text));
            case
        };
        let cases = [
            case("a.x", "one\n\ntwo\n", &[("expected", "fine\n")]),
            case("b.x", "", &[]),
            case("c", "=\n", &[("out", "-"), ("err", "\n\n")]),
            case("d", "no end", &[("out", " \n")]),
        ];
        let text = print(&cases);
        assert_eq!(parse(&text).as_deref(), Ok(&cases[..]));
        assert_eq!(text.lines().next(), Some("==== a.x"));
        assert!(parse(&format!("lost\n{text}")).is_err());
    }

    #[test]
    fn sections_come_and_go() {
        let mut case = Case::default();
        assert_eq!(case.section("out"), "");
        case.set_section("out", "1\n");
        case.set_section("err", "2\n");
        case.set_section("out", "3\n");
        assert_eq!((case.section("out"), case.section("err")), ("3\n", "2\n"));
        case.set_section("out", "");
        assert_eq!(case.section("out"), "");
        assert_eq!(print(&[case]), "==== \n---- err\n2\n");
    }
}
