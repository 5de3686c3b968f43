//! Each class of diagnostics and each class of faults is shown by a program under `tests/cl`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tidemill_proc::fault::Reason;
use tidemill_support::cases;

/// What no program can show: it takes a file of 4 GiB.
const NO_DIAGNOSTIC: [&str; 1] = ["file-too-large"];
/// Faults that checked programs cannot reach: missing interfaces, handing over a component without
/// a receiver, and arguments that the checker allows and no operation takes. Scripts of simulations
/// kill components; tests of nodes have one.
const NO_FAULT: [&str; 4] = ["interface", "move", "argument", "killed"];

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts of all files with an ending below a folder; of cases what the programs report.
fn texts(folder: &Path, ending: &str, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts(&path, ending, into);
        } else if path.extension().is_some_and(|it| it == ending) {
            into.push(fs::read_to_string(&path).expect("text"));
        } else if path.extension().is_some_and(|it| it == cases::ENDING) {
            into.extend(cases::read(&path).iter().map(|case| case.section(ending).to_owned()));
        }
    }
}

/// The classes that reports under a folder of tests show: what stands in brackets after the word.
fn shown(folder: &str, words: &[&str]) -> BTreeSet<String> {
    let mut reports = Vec::new();
    texts(&root().join(folder), "err", &mut reports);
    let mut classes = BTreeSet::new();
    for word in words {
        let begin = format!("{word}[");
        for part in reports.iter().flat_map(|text| text.split(begin.as_str()).skip(1)) {
            classes.insert(part.split(']').next().unwrap_or_default().to_owned());
        }
    }
    classes
}

/// The literals of a source that name a class: what constructors of diagnostics are given first,
/// and what is written like a class.
fn named(source: &str, classes: &mut BTreeSet<String>) {
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let parts: Vec<&str> = line.split('"').collect();
        for (before, literal) in parts.iter().zip(&parts[1..]).step_by(2) {
            let given = ["error(", "warning(", "fail("].iter().any(|it| before.ends_with(it));
            let is_word =
                |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
            let like = literal.contains('-') && literal.split('-').all(is_word);
            if like || given && is_word(literal) {
                classes.insert((*literal).to_owned());
            }
        }
    }
}

#[test]
fn each_class_of_diagnostics_is_shown() {
    let mut sources = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for part in ["check", "parse", "lex"] {
        texts(&folder.join(part), "rs", &mut sources);
        sources.extend(fs::read_to_string(folder.join(part).with_extension("rs")));
    }
    let mut classes = BTreeSet::new();
    sources.iter().for_each(|source| named(source, &mut classes));
    assert!(classes.len() > 50, "they are looked for in the wrong way: {classes:?}");
    let shown = shown("tests/cl", &["error", "warning"]);
    let missing =
        |class: &&String| !shown.contains(*class) && !NO_DIAGNOSTIC.contains(&class.as_str());
    let missing: Vec<&String> = classes.iter().filter(missing).collect();
    assert!(missing.is_empty(), "no program shows {missing:?}");
}

#[test]
fn each_class_of_faults_is_shown() {
    let shown = shown("tests/cl/fault", &["fault"]);
    let classes: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
    let missing = |class: &&&str| !shown.contains(**class) && !NO_FAULT.contains(class);
    let missing: Vec<&&str> = classes.iter().filter(missing).collect();
    assert!(missing.is_empty(), "no program shows {missing:?}");
    let needless: Vec<&&str> = NO_FAULT.iter().filter(|class| shown.contains(**class)).collect();
    assert!(needless.is_empty(), "there are programs that show {needless:?}");
}
