//! Compiled texts: descriptors equal to those of `protoc` byte for byte, and the diagnostics of
//! errors.
//!
//! The data is in `tests/proto`: `right/*.proto` with the set that `protoc` made of it, recorded
//! beside; `wrong/*.cases` with the diagnostics and the verdict of `protoc`. `BLESS=1` rewrites
//! expected diagnostics; the sets and verdicts too, if `PROTOC` names a `protoc` to ask.

use crate::oracle;

use std::fs;
use std::path::{Path, PathBuf};

use tidemill_support::cases::{self, Case, Unpacked};
use tidemill_support::golden::{Golden, blesses};
use tidemill_wire::Schema;
use tidemill_wire::proto::{Compiled, Folders, compile, load};

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/proto").join(folder)
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the data is there");
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".proto")).collect();
    names.sort();
    names
}

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
    let folder = data("right");
    let mut failed = Vec::new();
    for name in files(&folder) {
        let compiled = compile_in(&folder, &name);
        let expected = folder.join(name.replace(".proto", ".fds"));
        if let (Some(set), true) = (oracle::descriptor_set(&folder, &name), blesses()) {
            fs::write(&expected, set).unwrap();
        }
        let expected = fs::read(&expected).expect("the set is recorded");
        let Some(schema) = &compiled.schema else {
            failed.push(format!("{name}:\n{}", rendered(&compiled, &folder)));
            continue;
        };
        let found = schema.descriptor_set();
        if found != expected {
            if let Some(folder) = std::env::var_os("KEEP") {
                fs::write(Path::new(&folder).join(&name), &found).unwrap();
            }
            let at = found.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            let around = |bytes: &[u8]| {
                let part = &bytes[at.saturating_sub(40)..(at + 40).min(bytes.len())];
                part.escape_ascii().to_string()
            };
            failed.push(format!("{name} at {at}:\n  {}\n  {}", around(&found), around(&expected)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn descriptor_sets_come_back() {
    let folder = data("right");
    for name in files(&folder) {
        let set = fs::read(folder.join(name.replace(".proto", ".fds"))).unwrap();
        match Schema::from_descriptor_set(&set) {
            Ok(schema) => assert_eq!(schema.descriptor_set(), set, "{name}"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
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
    let files = cases::folder("tests/proto/wrong", 343);
    let folder = Unpacked::new("wrong", files.iter().flat_map(|(_, cases)| cases));
    let mut golden = Golden::default();
    for (path, mut cases) in files {
        for case in &mut cases {
            let current = current(folder.path(), case, &mut golden);
            case.set_section(EXPECTED, current);
        }
        golden.check(&path, cases::print(&cases));
    }
}

/// The current output of a case, in the form of what is expected.
fn current(folder: &Path, case: &Case, golden: &mut Golden) -> String {
    let (name, recorded) = (&case.name, case.section(EXPECTED));
    let compiled = compile_in(folder, name);
    let asked = oracle::accepts(folder, name);
    let protoc = match (asked, verdict(recorded)) {
        (Some(asked), Some(known)) if !blesses() => {
            assert_eq!(asked, known, "{name}: protoc changed its mind");
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
        _ => golden.fail(format!("{name}: our verdict is another than protoc's")),
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
