//! The monitors of `examples/monitor`: beside the programs that they watch from the start, and
//! installed while these run. The scripts are the tests, which are run here.

use std::path::PathBuf;
use std::process::Output;

use crate::common::node::{Running, wait_until};
use crate::common::{Folder, root, status, stderr, stdout, tidemill};

const FOLDER: &str = "examples/monitor";

/// Runs the command in the first line of a script with that script.
fn simulate(script: &str, extra: &[&str]) -> Output {
    let script = format!("{FOLDER}/{script}");
    let text = std::fs::read_to_string(root().join(&script)).expect("a script");
    let command = text.lines().next().and_then(|line| line.strip_prefix("# tidemill "));
    let arguments = command.expect("the command").split_whitespace();
    let mut run = tidemill();
    run.current_dir(root()).args(arguments).args(["--script", &script]).args(extra);
    run.output().expect("it starts")
}

/// Randomness decides which node sends a token, how long messages take and which node pays which.
#[test]
fn every_script_holds_under_any_seed() {
    let folder = std::fs::read_dir(root().join(FOLDER)).expect("the folder");
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let scripts: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "sim")).collect();
    assert_eq!(scripts.len(), 8, "{scripts:?}");
    for script in scripts {
        let name = script.file_name().and_then(|name| name.to_str()).expect("text");
        for seed in ["1", "2", "3"] {
            let output = simulate(name, &["--seed", seed]);
            assert_eq!(status(&output), 0, "{name}, seed {seed}\n{}", stderr(&output));
        }
    }
}

/// Snapshots rely on ordered messages: with reordering the sum is wrong, which is detected.
#[test]
fn a_snapshot_needs_messages_in_order() {
    let output = simulate("test.sim", &["--reorder", "0.3"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("audit::"), "{}", stderr(&output));
}

/// Monitors are installed and removed while the watched program runs, in the order of their
/// dependencies.
#[test]
fn monitors_are_installed_and_taken_away() {
    let folder = Folder::new();
    let bank = root().join(FOLDER).join("bank.olg").display().to_string();
    let run = Running::start(&folder, "bank", &[&bank, "--nodes", "3", "--fabric", "reliable"]);
    let addresses = run.addresses(3);
    let tool = |verb: &str, node: usize, argument: &str| {
        let mut command = tidemill();
        command.current_dir(root().join(FOLDER)).env("XDG_RUNTIME_DIR", folder.path());
        command.args([verb, &addresses[node], argument]).output().expect("it starts")
    };
    let query = |node: usize, what: &str| stdout(&tool("query", node, what));
    wait_until("all know each other", || query(2, "member").lines().count() == 3);

    // The audit reads tables of the snapshot.
    let early = tool("install", 0, "audit.olg");
    assert_eq!(status(&early), 1);
    assert!(stderr(&early).contains("`transfer` and `snapshot::recording`"), "{}", stderr(&early));
    assert_eq!(status(&tool("install", 0, "snapshot.olg")), 0);
    assert_eq!(status(&tool("install", 0, "audit.olg")), 0);
    wait_until("a count", || query(0, "audit::count").contains("\"snapshot\", "));
    let counts = query(0, "audit::count");
    let mut snapshots = counts.lines().filter(|line| line.contains("\"snapshot\", "));
    assert!(snapshots.all(|line| line.ends_with(", 3, 3000)")), "{counts}");
    assert!(!query(2, "snapshot::complete").is_empty());

    let needed = tool("uninstall", 0, "snapshot.olg");
    assert_eq!(status(&needed), 1, "{}", stderr(&needed));
    assert_eq!(status(&tool("uninstall", 0, "audit.olg")), 0);
    assert_eq!(status(&tool("uninstall", 0, "snapshot.olg")), 0);
    assert_eq!(status(&tool("query", 2, "snapshot::taken")), 1);
    // Money has been moving, and still is.
    let before = query(1, "account");
    wait_until("the bank goes on", || query(1, "account") != before);
}
