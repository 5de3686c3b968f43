//! Programs by users of P2, in the syntax of their year: each runs under the command in the first
//! line of its script, with loss and crashes, from several seeds, and meets the expectations of the
//! script. `tests/overlog/sim/NAME.olg` and `NAME.sim` are a program and its script; small ones are
//! cases, with the script as a file beside the source.

use std::path::Path;

use tidemill_support::cases::{self, Unpacked};
use tidemill_support::{files, text};

use crate::common::{root, status, stderr, tidemill};

const FOLDER: &str = "tests/overlog/sim";
const SEEDS: [&str; 3] = ["1", "2", "3"];

/// Runs a script, in the folder to which its command refers.
fn meets_its_expectations(place: &str, script: &Path, folder: &Path) {
    let text = text(script);
    let command = text.lines().next().and_then(|line| line.strip_prefix("# tidemill "));
    let command = command.unwrap_or_else(|| panic!("{place} has no command"));
    assert!(text.contains(" expect "), "{place} expects nothing");
    for seed in SEEDS {
        let mut run = tidemill();
        run.current_dir(folder).args(command.split_whitespace());
        let output = run.args(["--seed", seed, "--script"]).arg(script).output();
        let output = output.expect("it starts");
        let err = stderr(&output);
        assert_eq!(status(&output), 0, "{place} seed {seed}: {err}");
        assert!(!err.contains("fault["), "{place} seed {seed}: {err}");
    }
}

#[test]
fn programs_in_the_syntax_of_p2_do_what_they_should_under_loss_and_crashes() {
    for script in files(FOLDER, "sim", 6) {
        meets_its_expectations(&script.display().to_string(), &script, &root());
    }
}

#[test]
fn small_programs_in_the_syntax_of_p2_do_so_too() {
    let path = root().join(FOLDER).join("networks.cases");
    let cases = cases::read(&path);
    assert!(cases.len() >= 10, "{} cases", cases.len());
    let folder = Unpacked::new("networks", &cases);
    for case in &cases {
        let script = folder.path().join(&case.name).with_extension("sim");
        meets_its_expectations(&case.place(&path), &script, folder.path());
    }
}
