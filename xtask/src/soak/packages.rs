//! The C library and the Python package under valgrind, generated code included.

use std::path::Path;
use std::process::Command;

use super::command::{Options, succeed};

const VALGRIND: &str = "valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite \
                        --error-exitcode=99";

pub fn run(root: &Path, _: &Options<'_>) -> Result<(), String> {
    let mut c = Command::new("cargo");
    let suppressions = root.join("crates/wire-c/tests/valgrind.supp");
    let runner = format!("{VALGRIND} --suppressions={}", suppressions.display());
    c.current_dir(root).args(["test", "-p", "tidemill-wire-c"]).env("C_RUNNER", runner);
    succeed(&mut c, "needs valgrind and a compiler of C")?;
    python(root)
}

fn python(root: &Path) -> Result<(), String> {
    let folder = root.join("target/soak/python");
    let mut make = Command::new("python3");
    succeed(make.args(["-m", "venv"]).arg(&folder), "needs Python with venv")?;
    let mut install = Command::new(folder.join("bin/pip"));
    let package = format!("{}[test]", root.join("python").display());
    install.args(["install", "--quiet", "--force-reinstall"]).arg(package);
    succeed(&mut install, "builds the package with maturin")?;
    let mut words = VALGRIND.split_ascii_whitespace();
    let mut test = Command::new(words.next().unwrap_or("valgrind"));
    // Memory that the interpreter itself keeps until its end is no leak of ours.
    test.args(words.filter(|word| !word.contains("leak")));
    test.arg(format!("--suppressions={}", root.join("python/valgrind.supp").display()));
    test.arg(folder.join("bin/python")).args(["-m", "unittest", "discover", "-s"]);
    // Objects one by one on the heap, so that valgrind knows their bounds.
    test.arg(root.join("python/tests")).env("PYTHONMALLOC", "malloc");
    succeed(&mut test, "the report is above")
}
