//! Programs by users of P2, in the syntax of their year: `tests/overlog/sim/NAME.olg` runs under
//! the command in the first line of `NAME.sim`, with loss and crashes, from several seeds, and
//! meets the expectations of the script.

use std::fs;

use crate::common::{root, status, stderr, tidemill};

const SEEDS: [&str; 3] = ["1", "2", "3"];

#[test]
fn programs_in_the_syntax_of_p2_do_what_they_should_under_loss_and_crashes() {
    let folder = root().join("tests/overlog/sim");
    let entries = fs::read_dir(&folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut scripts: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "sim")).collect();
    scripts.sort();
    assert!(scripts.len() >= 15, "{}", scripts.len());
    for script in scripts {
        let text = fs::read_to_string(&script).expect("a script");
        let command = text.lines().next().and_then(|line| line.strip_prefix("# tidemill "));
        let command = command.unwrap_or_else(|| panic!("{} has no command", script.display()));
        assert!(text.contains(" expect "), "{} expects nothing", script.display());
        for seed in SEEDS {
            let mut run = tidemill();
            run.current_dir(root()).args(command.split_whitespace());
            let output = run.args(["--seed", seed, "--script"]).arg(&script).output();
            let output = output.expect("it starts");
            let err = stderr(&output);
            assert_eq!(status(&output), 0, "{} seed {seed}: {err}", script.display());
            assert!(!err.contains("fault["), "{} seed {seed}: {err}", script.display());
        }
    }
}
