//! Files of cases: many small sources, each with its expected output, in one file.
//!
//! ```text
//! ==== NAME # what it is about, if its name does not say it
//! the source
//! ---- expected
//! what is found
//! ```
//! A line that begins with one of the two marks ends what is above it. A case has any number of
//! sections, each with a name of its own (`out`, `err`); a missing one is empty. A section
//! `file PATH` is a file beside the source, such as one that it includes. Each line of a source and
//! of a section has a newline; if the last one lacks it, `\ no end of line` follows.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The ending of such files.
pub const ENDING: &str = "cases";

const CASE: &str = "==== ";
const COMMENT: &str = " # ";
const SECTION: &str = "---- ";
const FILE: &str = "file ";
const UNENDED: &str = "\\ no end of line\n";

/// A source and its expected output.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Case {
    /// The name that the source would have as a file.
    pub name: String,
    /// What it is about, behind the name; may be empty.
    pub comment: String,
    /// The source.
    pub source: String,
    /// The line of the file that names it, from 1; 0 if it comes from no file.
    pub line: usize,
    /// Names of sections with their texts, none of them empty.
    sections: Vec<(String, String)>,
}

impl Case {
    /// The text of a section, empty if it has none.
    pub fn section(&self, name: &str) -> &str {
        let found = self.sections.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, text)| text)
    }

    /// The line of the file at which the text of a section begins, or would be appended.
    pub fn section_line(&self, name: &str) -> usize {
        let lines = |text: &str| ended(text).lines().count();
        let before = self.sections.iter().take_while(|(it, _)| it != name);
        let before: usize = before.map(|(_, text)| 1 + lines(text)).sum();
        self.line + 1 + lines(&self.source) + before + 1
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

    /// The files beside the source: their paths from its folder, and their texts.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let sections = self.sections.iter();
        sections.filter_map(|(name, text)| Some((name.strip_prefix(FILE)?, text.as_str())))
    }

    /// Where it is, for messages: `FILE:LINE: NAME`, with the path of the file in the project.
    pub fn place(&self, path: &Path) -> String {
        let path = path.strip_prefix(crate::root()).unwrap_or(path);
        format!("{}:{}: {}", path.display(), self.line, self.name)
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
    /// Writes all sources, and the files beside them, into one new folder with this name in its name.
    pub fn new<'c>(name: &str, cases: impl IntoIterator<Item = &'c Case>) -> Unpacked {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("tidemill-{name}-{}-{number}", std::process::id());
        let unpacked = Unpacked(std::env::temp_dir().join(folder));
        std::fs::create_dir_all(unpacked.path())
            .unwrap_or_else(|error| panic!("{}: {error}", unpacked.path().display()));
        for case in cases {
            unpacked.write(&case.name, &case.source);
            case.files().for_each(|(path, text)| unpacked.write(path, text));
        }
        unpacked
    }

    /// Writes one file; one that is already there must be the same.
    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        let is_other = std::fs::read_to_string(&path).is_ok_and(|there| there != text);
        assert!(!is_other, "two cases with different files {}", path.display());
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.and_then(|()| std::fs::write(&path, text));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
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
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        if let Some(name) = line.strip_prefix(CASE) {
            let (name, comment) = name.split_once(COMMENT).unwrap_or((name, ""));
            let (name, comment) = (name.trim_end().to_owned(), comment.trim_end().to_owned());
            cases.push(Case { name, comment, line: number, ..Case::default() });
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
        text += &format!("{CASE}{}", case.name);
        if !case.comment.is_empty() {
            text += &format!("{COMMENT}{}", case.comment);
        }
        text += &format!("\n{}", ended(&case.source));
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
        let case = |line, name: &str, source: &str, sections: &[(&str, &str)]| {
            let (name, source) = (name.to_owned(), source.to_owned());
            let mut case = Case { name, source, line, ..Case::default() };
            sections.iter().for_each(|(name, text)| case.set_section(name, *text));
            case
        };
        let mut cases = [
            case(1, "a.x", "one\n\ntwo\n", &[("expected", "fine\n")]),
            case(7, "b.x", "", &[]),
            case(8, "c", "=\n", &[("out", "-"), ("err", "\n\n")]),
            case(16, "d", "no end", &[("out", " \n")]),
        ];
        cases[3].comment = "a comment".to_owned();
        let text = print(&cases);
        assert!(text.contains("==== d # a comment\nno end\n"), "{text}");
        assert_eq!(parse(&text).as_deref(), Ok(&cases[..]));
        assert_eq!(text.lines().next(), Some("==== a.x"));
        assert!(parse(&format!("lost\n{text}")).is_err());
        let path = crate::root().join("tests/some.cases");
        assert_eq!(cases[1].place(&path), "tests/some.cases:7: b.x");
        let line = text.lines().position(|line| line == "-").map(|at| at + 1);
        assert_eq!(Some(cases[2].section_line("out")), line);
        assert_eq!(cases[2].section_line("err"), cases[3].line - 2);
    }

    #[test]
    fn files_are_unpacked_beside_the_source() {
        let text = "==== a\n1\n---- file in/b\n2\n---- out\n3\n==== c\n4\n---- file in/b\n2\n";
        let cases = parse(text).expect("cases");
        let unpacked = Unpacked::new("files", &cases);
        let read = |path: &str| std::fs::read_to_string(unpacked.path().join(path)).ok();
        let found = ["a", "in/b", "c", "out"].map(read);
        assert_eq!(
            found,
            [Some("1\n"), Some("2\n"), Some("4\n"), None].map(|it| it.map(Into::into))
        );
        let other = parse("==== in/b\n5\n").expect("a case");
        let clash = std::panic::catch_unwind(|| Unpacked::new("clash", cases.iter().chain(&other)));
        assert!(clash.is_err());
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
