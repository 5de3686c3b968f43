//! Compiled texts: descriptors equal to those of `protoc` byte for byte, and the diagnostics of
//! errors.
//!
//! The cases are in `tests/proto`: `right` with the set that `protoc` made of each, as readable
//! text that stands for its bytes; `wrong` with the diagnostics and the verdict of `protoc`.
//! `BLESS=1` rewrites expected diagnostics; the sets and verdicts too, if `PROTOC` names a `protoc`
//! to ask.

use crate::oracle;

use std::fs;
use std::path::Path;

use tidemill_support::cases::{self, Case, Unpacked};
use tidemill_support::descriptors::{self, Names, Recorded};
use tidemill_support::golden::{self, Golden, blesses};
use tidemill_wire::Schema;
use tidemill_wire::proto::{Compiled, Folders, Texts, compile, load};

/// The folders of cases, each with the number of its cases.
const RIGHT: (&str, usize) = ("tests/proto/right", 108);
const WRONG: (&str, usize) = ("tests/proto/wrong", 343);

fn compile_in(folder: &Path, name: &str) -> Compiled {
    compile(&[name], &Folders { roots: vec![folder.to_owned()] })
}

/// Diagnostics with names of files as in imports.
fn rendered(compiled: &Compiled, folder: &Path) -> String {
    let text: String =
        compiled.diagnostics.iter().map(|one| compiled.sources.render(one)).collect();
    text.replace(&format!("{}/", folder.display()), "")
        .replace(&folder.display().to_string(), "tests/proto/wrong")
}

#[test]
fn descriptors_are_those_of_protoc() {
    let files = cases::folder(RIGHT.0, RIGHT.1);
    let folder = Unpacked::new("right", files.iter().flat_map(|(_, cases)| cases));
    let mut recorded = Recorded::new(&files);
    golden::check_cases(RIGHT.0, RIGHT.1, |case, place, golden| {
        let compiled = compile_in(folder.path(), &case.name);
        let Some(schema) = &compiled.schema else {
            return golden.fail(format!("{place}\n{}", rendered(&compiled, folder.path())));
        };
        let found = schema.descriptor_set();
        let asked = blesses().then(|| oracle::descriptor_set(folder.path(), &case.name)).flatten();
        if let Some(set) = asked {
            let text = recorded.record(&case.name, &set);
            case.set_section(descriptors::SECTION, text.expect("protoc writes the shortest form"));
        }
        let expected = case.section(descriptors::SECTION);
        if recorded.bytes(expected).as_ref() == Ok(&found) {
            return;
        }
        // Only what `protoc` makes may be recorded.
        let text = recorded.text(&case.name, &found).expect("we write the shortest form");
        let line = case.section_line(descriptors::SECTION);
        golden.fail(format!("{place}\n{}", golden::difference(expected, &text, line)));
    });
}

#[test]
fn descriptor_sets_come_back() {
    for (name, set) in descriptors::sets(RIGHT.0) {
        match Schema::from_descriptor_set(&set) {
            Ok(schema) => assert_eq!(schema.descriptor_set(), set, "{name:?}"),
            Err(error) => panic!("{name:?}: {error}"),
        }
    }
}

/// The texts of sets use names of fields and enum values that are ours, too.
#[test]
fn names_of_descriptors_are_those_of_the_schema() {
    let import = "syntax = \"proto3\"; import public \"google/protobuf/descriptor.proto\";";
    let schema = compile(&["a.proto"], &Texts::from_iter([("a.proto", import)])).schema.unwrap();
    let (names, mut compared) = (Names::read(), 0);
    for id in schema.messages() {
        let message = schema.message(id);
        let fields = names.fields(message.name());
        let found: Vec<_> =
            message.field_defs().iter().map(|it| (it.name(), it.number())).collect();
        let mut named: Vec<_> =
            fields.iter().map(|it| (it.name.as_str(), it.number as u32)).collect();
        named.sort_by_key(|(_, number)| found.iter().position(|(_, it)| it == number));
        assert_eq!(named, found, "{}", message.full_name());
        compared += found.len();
    }
    assert!(compared > 150, "{compared} fields");
}

/// The section of a case with what is expected.
const EXPECTED: &str = "expected";

/// The expectation: `protoc accepts` or `protoc refuses`, an optional reason why our verdict
/// differs, then diagnostics.
fn verdict(expected: &str) -> Option<bool> {
    match expected.lines().next()? {
        "protoc accepts" => Some(true),
        "protoc refuses" => Some(false),
        _ => None,
    }
}

/// The reason in a second line `we differ: ...`, if our verdict differs.
fn differs(expected: &str) -> Option<&str> {
    expected.lines().nth(1).filter(|line| line.starts_with("we differ: "))
}

#[test]
fn errors_are_reported() {
    let files = cases::folder(WRONG.0, WRONG.1);
    let folder = Unpacked::new("wrong", files.iter().flat_map(|(_, cases)| cases));
    golden::check_cases(WRONG.0, WRONG.1, |case, place, golden| {
        let current = current(folder.path(), case, place, golden);
        case.set_section(EXPECTED, current);
    });
}

/// The current output of a case, in the form of what is expected.
fn current(folder: &Path, case: &Case, place: &str, golden: &mut Golden) -> String {
    let (name, recorded) = (&case.name, case.section(EXPECTED));
    let compiled = compile_in(folder, name);
    let asked = oracle::accepts(folder, name);
    let protoc = match (asked, verdict(recorded)) {
        (Some(asked), Some(known)) if !blesses() => {
            assert_eq!(asked, known, "{place}: protoc changed its mind");
            known
        }
        (asked, known) => asked.or(known).expect("the verdict of protoc is recorded"),
    };
    let word = if protoc { "accepts" } else { "refuses" };
    let mut found = format!("protoc {word}\n");
    let same = compiled.schema.is_some() == protoc;
    match differs(recorded) {
        Some(line) if !same => found.push_str(&format!("{line}\n")),
        None if same => {}
        _ => golden.fail(format!("{place}: our verdict is another than protoc's")),
    }
    found.push_str(&rendered(&compiled, folder));
    found
}

/// Folders with files of one name: the requested file is loaded.
#[test]
fn the_requested_file_is_loaded() {
    let root = std::env::temp_dir().join(format!("tidemill-load-{}", std::process::id()));
    for (folder, import) in [("a", ""), ("b", ""), ("c", "import \"test.proto\";")] {
        fs::create_dir_all(root.join(folder)).unwrap();
        let text = format!("syntax = \"proto3\"; package {folder}; {import} message M {{}}");
        let name = if import.is_empty() { "test.proto" } else { "other.proto" };
        fs::write(root.join(folder).join(name), text).unwrap();
    }
    let load = |files: &[&str], folders: &[&str]| {
        let inside = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        let compiled = load(&inside(files), &inside(folders));
        compiled.schema.ok_or_else(|| compiled.diagnostics[0].message.clone())
    };
    let has = |schema: &Schema, name| schema.message_by_name(name).is_some();
    // A file in none of the folders, which have another of its name.
    let schema = load(&["a/test.proto"], &["b"]).unwrap();
    assert!(has(&schema, "a.M") && !has(&schema, "b.M"));
    // Imports are found in the folders.
    let schema = load(&["a/test.proto", "c/other.proto"], &["b"]).unwrap();
    assert!(has(&schema, "a.M") && has(&schema, "b.M") && has(&schema, "c.M"));
    let schema = load(&["c/other.proto"], &["a", "b"]).unwrap();
    assert!(has(&schema, "a.M") && !has(&schema, "b.M"));
    // In a folder after another that has a file of that name: protoc refuses that too.
    assert!(load(&["a/test.proto"], &["a", "b"]).is_ok());
    let error = load(&["a/test.proto"], &["b", "a"]).unwrap_err();
    assert!(error.contains("by the order of the folders"), "{error}");
    fs::remove_dir_all(root).unwrap();
}
