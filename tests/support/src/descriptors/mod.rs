//! Sets of descriptors, as `protoc` writes them, as readable text that stands for the same bytes.
//!
//! ```text
//! file "google/protobuf/any.proto"
//! file {
//!   name: "a.proto"
//!   message_type {
//!     name: "M"
//!     field { name: "i" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 json_name: "i" }
//!     options { 50001: "custom" 50002: 0x3f800000 50003 { 1: 7 } 50004 group { 1: 7 } }
//!   }
//! }
//! ```
//! The fields are in the order of the bytes, with the names of `descriptor.proto`; what it does not
//! declare, such as custom options, has its number. Varints are decimal, numbers of fixed size
//! hexadecimal with all digits. A length-delimited value is `"bytes"`, with `\xHH`, `\"` and `\\`,
//! or a message in braces. Bytes that such a text cannot express are in quotes. `file "NAME"` stands
//! for a file that another set has in full.
//!
//! Nothing here uses the library that is tested with it.

mod names;
mod print;
mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use names::{Field, Names};
pub use read::Error;

use crate::cases::{self, Case};

/// The section of a case with the set of its source.
pub const SECTION: &str = "descriptors";

/// The message of a set, and the number of its only field.
const SET: &str = "FileDescriptorSet";
const FILE_NUMBER: u64 = 1;
/// The number of the name of a file.
const NAME_NUMBER: u64 = 1;
const REFERENCE: &str = "file \"";

/// The files of a set with their names, in order. `None` if it is no set in its shortest form.
fn split(set: &[u8]) -> Option<Vec<(String, &[u8])>> {
    let mut rest = set;
    let mut files = Vec::new();
    while !rest.is_empty() {
        let (number, file) = print::delimited(&mut rest)?;
        let (name_number, name) = print::delimited(&mut &*file)?;
        (number == FILE_NUMBER && name_number == NAME_NUMBER).then_some(())?;
        files.push((String::from_utf8(name.to_vec()).ok()?, file));
    }
    Some(files)
}

/// The bytes of a set of one file.
fn set_of(file: &[u8]) -> Vec<u8> {
    let mut set = Vec::new();
    read::delimited(FILE_NUMBER, file, &mut set);
    set
}

/// The sets of a folder of cases.
#[derive(Debug, Default)]
pub struct Recorded {
    names: Names,
    /// The files by their names.
    files: BTreeMap<String, File>,
}

/// The descriptor of a file.
#[derive(Debug)]
struct File {
    /// The case that has it in full.
    case: String,
    bytes: Vec<u8>,
}

impl Recorded {
    /// Reads all sets of files of cases.
    pub fn new(files: &[(PathBuf, Vec<Case>)]) -> Recorded {
        let mut recorded = Recorded { names: Names::read(), files: BTreeMap::new() };
        for (path, case) in each(files) {
            let added = recorded.add(&case.name, case.section(SECTION));
            added.unwrap_or_else(|error| panic!("{}: {error}", case.place(path)));
        }
        recorded
    }

    /// Adds the files that a case has in full.
    fn add(&mut self, case: &str, text: &str) -> Result<(), Error> {
        let is_full = |line: &&str| !line.starts_with(REFERENCE);
        let full: String = text.split_inclusive('\n').filter(is_full).collect();
        let set = read::message(&self.names, SET, &full)?;
        let wrong = |expected| Error { rest: full.clone(), expected };
        for (name, bytes) in split(&set).ok_or_else(|| wrong("files"))? {
            if self.files.contains_key(&name) {
                return Err(wrong("a file that no other set has"));
            }
            self.files.insert(name, File { case: case.to_owned(), bytes: bytes.to_vec() });
        }
        Ok(())
    }

    /// The bytes of a text.
    ///
    /// # Errors
    /// A text that [`Self::text`] does not print.
    pub fn bytes(&self, text: &str) -> Result<Vec<u8>, Error> {
        let (mut set, mut full) = (Vec::new(), String::new());
        for line in text.split_inclusive('\n') {
            if !line.starts_with(REFERENCE) {
                full += line;
                continue;
            }
            set.extend(read::message(&self.names, SET, &std::mem::take(&mut full))?);
            let name = line.strip_prefix(REFERENCE).and_then(|it| it.strip_suffix("\"\n"));
            let file = name.and_then(|name| self.files.get(name));
            let wrong = || Error { rest: line.to_owned(), expected: "a file of another set" };
            set.extend(set_of(&file.ok_or_else(wrong)?.bytes));
        }
        set.extend(read::message(&self.names, SET, &full)?);
        Ok(set)
    }

    /// The text of the set of a case. Files that other cases have in full are only named. `None` if
    /// it is no set in its shortest form.
    pub fn text(&self, case: &str, set: &[u8]) -> Option<String> {
        let mut text = String::new();
        for (name, bytes) in split(set)? {
            let there = self.files.get(&name);
            text += &if there.is_some_and(|file| file.case != case && file.bytes == bytes) {
                format!("file {}\n", print::quoted(name.as_bytes()))
            } else {
                print::message(&self.names, SET, &set_of(bytes))?
            };
        }
        Some(text)
    }

    /// Replaces the files of a set, and returns its text. A case keeps the files that it has in
    /// full; files that no case has become those of this one.
    pub fn record(&mut self, case: &str, set: &[u8]) -> Option<String> {
        for (name, bytes) in split(set)? {
            let new = File { case: case.to_owned(), bytes: Vec::new() };
            self.files.entry(name).or_insert(new).bytes = bytes.to_vec();
        }
        self.text(case, set)
    }
}

/// The sets in a folder of the project with files of cases, by the name of the case with the ending
/// `fds`.
pub fn sets(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let files = cases::folder(folder, 1);
    let recorded = Recorded::new(&files);
    let set = |(path, case): (&Path, &Case)| {
        let set = recorded.bytes(case.section(SECTION));
        let set = set.unwrap_or_else(|error| panic!("{}: {error}", case.place(path)));
        (Path::new(&case.name).with_extension("fds"), set)
    };
    let mut sets: Vec<_> = each(&files).map(set).collect();
    sets.sort();
    sets
}

fn each(cases: &[(PathBuf, Vec<Case>)]) -> impl Iterator<Item = (&Path, &Case)> {
    cases.iter().flat_map(|(path, cases)| cases.iter().map(|case| (path.as_path(), case)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "FileDescriptorProto";

    /// The bytes of a message in hexadecimal.
    fn hex(digits: &str) -> Vec<u8> {
        let byte = |word: &str| u8::from_str_radix(word, 16).expect("a byte");
        digits.split_whitespace().map(byte).collect()
    }

    fn is_same(file: &str, expected: &str) {
        let names = Names::read();
        let bytes = hex(file);
        let text = print::message(&names, FILE, &bytes).expect("it can be printed");
        assert_eq!(text, expected);
        assert_eq!(read::message(&names, FILE, &text), Ok(bytes), "{text}");
    }

    #[test]
    fn what_is_printed_reads_as_the_same_bytes() {
        is_same("0a 03 61 22 5c", "name: \"a\\\"\\\\\"\n");
        // Not UTF-8, a control character, blanks at both ends.
        is_same("0a 03 61 ff c3", "name: \"a\\xff\\xc3\"\n");
        is_same("0a 05 20 0a c3 a9 20", "name: \" \\x0aé \"\n");
        is_same("70 e8 07 a8 06 00", "edition: EDITION_2023 101: 0\n");
        let negative = "22 0d 4a 0b 10 fb ff ff ff ff ff ff ff ff 01";
        is_same(negative, "message_type {\n  reserved_range { end: -5 }\n}\n");
        is_same("42 03 b8 01 01", "options {\n  deprecated: true\n}\n");
        // Fixed numbers, a group in a group, a message of an unknown field.
        is_same("2d 00 00 80 3f", "5: 0x3f800000\n");
        is_same("a1 06 01 00 00 00 00 00 00 80", "100: 0x8000000000000001\n");
        is_same("a3 06 a3 06 08 01 a4 06 a4 06", "100 group {\n  100 group { 1: 1 }\n}\n");
        is_same("a2 06 02 08 07", "100 {\n  1: 7\n}\n");
        is_same("a2 06 00", "100: \"\"\n");
        // Other wire types than declared.
        is_same("08 01", "1: 1\n");
        is_same("22 01 08", "message_type: \"\\x08\"\n");
        is_same("23 24", "4 group {\n}\n");
    }

    /// Bytes of which another form exists have no text as messages.
    #[test]
    fn longer_forms_are_not_printed_as_fields() {
        let names = Names::read();
        for bytes in
            ["70 81 00", "8a 80 00 00", "0a 81 00 61", "08", "0a 02 61", "0f", "00 00", "23"]
        {
            assert_eq!(print::message(&names, FILE, &hex(bytes)), None, "{bytes}");
        }
        is_same("42 03 50 81 00", "options: \"P\\x81\\x00\"\n");
    }

    #[test]
    fn files_are_named_that_another_set_has() {
        let (a, b) = (hex("0a 01 61"), hex("0a 01 62 1a 01 61"));
        let set = [set_of(&a), set_of(&b)].concat();
        let mut recorded = Recorded { names: Names::read(), files: BTreeMap::new() };
        let full = "file {\n  name: \"a\"\n}\n";
        assert_eq!(recorded.add("a.proto", full), Ok(()));
        assert!(recorded.add("c.proto", full).is_err());
        let text = "file \"a\"\nfile {\n  name: \"b\" dependency: \"a\"\n}\n";
        assert_eq!(recorded.text("b.proto", &set).as_deref(), Some(text));
        assert_eq!(recorded.bytes(text), Ok(set));
        assert!(recorded.bytes("file \"b\"\n").is_err());
        // Another file of that name is in full, until it is recorded.
        let set = [set_of(&hex("0a 01 61 12 00")), set_of(&b)].concat();
        let other = recorded.text("b.proto", &set).expect("a set");
        assert_eq!(
            (other.lines().next(), recorded.bytes(&other)),
            (Some("file {"), Ok(set.clone()))
        );
        assert_eq!(recorded.record("b.proto", &set).as_deref(), Some(text));
        assert_eq!(recorded.bytes(text), Ok(set.clone()));
        // The first case keeps its file, and the second has its own.
        let first = other.split_inclusive("}\n").next().unwrap_or_default().to_owned();
        let expected = Some(first + "file \"b\"\n");
        assert_eq!(recorded.text("a.proto", &set), expected);
    }

    #[test]
    fn wrong_texts_are_refused() {
        let names = Names::read();
        for text in ["nothing: 1", "name 1", "name: \"a", "name: \"\\q\"", "name {", "}", "1: 0x12"]
        {
            assert!(read::message(&names, FILE, text).is_err(), "{text}");
        }
    }
}
