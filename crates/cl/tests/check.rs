//! The checker against programs that are right, programs that are wrong, and its own corpus:
//! `tests/cl/check/NAME.com` with its diagnostics in `NAME.err` (absent: none). `BLESS=1` rewrites.

mod corpus;

use std::path::{Path, PathBuf};

use corpus::folder;
use tidemill_cl::check::check;
use tidemill_cl::ir::verify::verify;
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_text;
use tidemill_stdx::diag::{Sources, has_errors};

/// Parses and checks; what is right is also lowered and verified.
fn diagnostics(name: &str, text: &str) -> (String, bool) {
    let mut sources = Sources::new();
    let (program, mut found) = parse_text(name, text, &mut sources);
    if !has_errors(&found) {
        let (tree, checked) = check(&program);
        found.extend(checked);
        if !has_errors(&found) {
            let ir = lower(&tree);
            assert_eq!(verify(&ir), Vec::<String>::new(), "{name}");
        }
    }
    (found.iter().map(|it| sources.render(it)).collect(), has_errors(&found))
}

/// All programs in the folder and those below, sorted.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.append(&mut all(&path));
        } else if path.extension().is_some_and(|it| it == "com") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> (String, String) {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    (name, std::fs::read_to_string(path).expect("a program of the corpus"))
}

#[test]
fn right_programs_have_no_errors() {
    let mut wrong = String::new();
    let examples = folder("../../examples");
    for path in [folder("run"), folder("fault"), examples].iter().flat_map(|it| all(it)) {
        let (name, text) = read(&path);
        let (found, has_errors) = diagnostics(&name, &text);
        if has_errors {
            wrong += &found;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
