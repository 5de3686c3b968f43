//! Programs of components run to their end and print what they should: examples, programs of one
//! language feature each, and programs that fault. `BLESS=1` rewrites what the latter two print.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use common::{Folder, status, stderr, stdout, tidemill};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The components in a folder.
fn components(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "com")).collect();
    paths.sort();
    paths
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Runs a program in its folder, with the options of its first line.
fn run(path: &Path, more: &[&str]) -> Output {
    let source = text(path);
    let options = source.lines().next().unwrap_or_default();
    let options = options.strip_prefix("(* options: ").and_then(|it| it.strip_suffix(" *)"));
    tidemill()
        .current_dir(path.parent().expect("a folder"))
        .arg("run")
        .args(options.unwrap_or_default().split_whitespace())
        .args(more)
        .arg(path.file_name().expect("a name"))
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

/// What a program promises: the files beside it.
struct Promise {
    out: String,
    err: String,
    status: i32,
}

impl Promise {
    fn of(path: &Path) -> Promise {
        let status = text(&path.with_extension("status"));
        Promise {
            out: text(&path.with_extension("out")),
            err: text(&path.with_extension("err")),
            status: status.trim().parse().unwrap_or(0),
        }
    }

    fn write(&self, path: &Path, keeps_status: bool) {
        let put = |ending: &str, text: &str| {
            let file = path.with_extension(ending);
            match text.is_empty() {
                true => drop(fs::remove_file(file)),
                false => fs::write(file, text).expect("written"),
            }
        };
        put("out", &self.out);
        put("err", &self.err);
        put("status", &if keeps_status { format!("{}\n", self.status) } else { String::new() });
    }
}

fn check(folder: &str, keeps_status: bool, more: &[&str]) {
    let mut wrong = Vec::new();
    for path in components(&root().join("tests/cl").join(folder)) {
        let output = run(&path, more);
        let is = Promise { out: stdout(&output), err: stderr(&output), status: status(&output) };
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let promised = Promise::of(&path);
        let kept = (is.out == promised.out, is.err == promised.err, is.status == promised.status);
        if std::env::var_os("BLESS").is_some() && more.is_empty() {
            is.write(&path, keeps_status);
        } else if kept != (true, true, true) {
            let Promise { out, err, status } = is;
            wrong.push(format!("{folder}/{name}: status {status}\n{out}{err}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn features_keep_their_promises() {
    check("run", false, &[]);
}

#[test]
fn faults_are_reported_where_they_are() {
    check("fault", true, &[]);
}

/// The oracle of the code generator keeps the same promises.
#[test]
fn interpreted_programs_keep_them_too() {
    let interpreted = ["--engine", "interpret"];
    check("run", false, &interpreted);
    check("fault", true, &interpreted);
}

/// What a program prints does not depend on the order of processes. (Without checkpoints one of
/// them would not end: it is about a process that is cut off.)
#[test]
fn schedules_change_nothing() {
    for seed in ["1", "2", "77"] {
        check("run", false, &["--seed", seed]);
    }
}

#[test]
fn examples_print_what_they_say() {
    let mut count = 0;
    for folder in fs::read_dir(root().join("examples")).expect("the folder") {
        let folder = folder.expect("an entry").path();
        let Ok(expected) = fs::read_to_string(folder.join("test.out")) else { continue };
        for path in components(&folder) {
            let files = Folder::new();
            let at = files.path().to_str().expect("text").to_owned();
            for engine in ["compiled", "interpret"] {
                let output = run(&path, &["--root", &at, "--engine", engine]);
                assert_eq!(stdout(&output), expected, "{path:?}\n{}", stderr(&output));
                assert_eq!((stderr(&output).as_str(), status(&output)), ("", 0), "{path:?}");
            }
            count += 1;
        }
    }
    assert!(count >= 15, "{count} examples");
}
