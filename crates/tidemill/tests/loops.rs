//! Programs of components with eager migration between loops give the same output as on one.

use std::fs;
use std::path::{Path, PathBuf};

use tidemill::console::Console;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{ComponentOptions, ComponentsEnded, RunOptions};
use tidemill::tape::taped;
use tidemill_support::cases::{self, Case, Unpacked};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program on this number of loops, with eager migration if there are several.
fn spread(file: &Path, workers: u32) -> (String, ComponentsEnded) {
    let program = Program::load(&[file.to_owned()], &LoadOptions::default());
    assert!(!program.has_errors(), "{}", file.display());
    let components = ComponentOptions {
        workers: Some(workers),
        spread_eagerly: true,
        root: file.parent().map(Path::to_owned),
        ..ComponentOptions::default()
    };
    let (console, data, notes) = taped();
    let report = program.run(RunOptions { components, ..RunOptions::default() }, console);
    let ended = report.expect("it runs").components.expect("components");
    (data.text() + &notes.text(), ended)
}

/// Programs with their expected output, and the folder of those that are cases.
fn programs() -> (Vec<(PathBuf, String)>, Unpacked) {
    let files = cases::folder("tests/cl/run", 100);
    // Options are for the command.
    let plain = |case: &&Case| !case.source.starts_with("(* options:");
    let cases = || files.iter().flat_map(|(_, cases)| cases).filter(plain);
    let unpacked = Unpacked::new("loops", cases());
    let expected = |case: &Case| format!("{}{}", case.section("out"), case.section("err"));
    let mut found: Vec<(PathBuf, String)> =
        cases().map(|case| (unpacked.path().join(&case.name), expected(case))).collect();
    for name in ["chameneos", "philosophers", "producers-consumers", "skynet", "sieve", "big"] {
        let folder = root().join("examples").join(name);
        let expected = fs::read_to_string(folder.join("test.out")).expect("an example");
        found.push((folder.join(name).with_extension("com"), expected));
    }
    found.sort();
    (found, unpacked)
}

#[test]
fn what_is_spread_prints_the_same() {
    let (mut given, mut wrong) = (0, String::new());
    let (programs, _unpacked) = programs();
    for (path, expected) in programs {
        for workers in [2, 3] {
            let (printed, ended) = spread(&path, workers);
            given += ended.given;
            // Reports name the file as it was given.
            let printed = printed.replace(&format!("{}/", path.parent().unwrap().display()), "");
            let counts = ended.counts;
            let alive = [counts.processes, counts.components, counts.channels, counts.texts];
            if printed != expected || alive.iter().any(|count| count.alive != 0) {
                wrong += &format!("{} with {workers}: {printed}{counts:?}\n", path.display());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(given > 1000, "only {given} components were given away");
}

/// The number of migrations when a benchmark program runs on two loops.
fn given(name: &str, arguments: &[&str]) -> u64 {
    let file = root().join("bench/cl").join(name).with_extension("com");
    let program = Program::load(&[file], &LoadOptions::default());
    let components = ComponentOptions {
        workers: Some(2),
        arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
        ..ComponentOptions::default()
    };
    let options = RunOptions { components, ..RunOptions::default() };
    let report = program.run(options, Console::silent()).expect("it runs");
    report.components.expect("components").given
}

#[test]
fn who_waits_for_each_other_stays_together() {
    assert_eq!(given("ring", &["1000", "500"]), 0);
    assert_eq!(given("prodcons", &["1", "1", "300000"]), 0);
    assert_eq!(given("prodcons", &["1", "10", "300000"]), 0);
    assert_eq!(given("prodcons", &["10", "10", "50000"]), 0);
}

#[test]
fn who_can_run_apart_is_given() {
    let spin = given("spin", &["16", "5000000"]);
    assert!(spin >= 4, "{spin} of 16 hot loops");
    let sieve = given("sieve", &["30000"]);
    assert!(sieve > 100, "{sieve} of 3245 filters");
}
