//! Histories that are compared with a sequential object: `--linearizable`.

use crate::common::{Folder, root, run, status, stderr, stdout};

fn register() -> String {
    root().join("tests/histories/register.olg").display().to_string()
}

#[test]
fn a_register_is_linearizable_if_reads_store_what_they_return() {
    let line = "--nodes 3 --for 12 --faults latency,loss,duplicate,reorder --linearizable register";
    let right = run(&format!("test {} {line} --seeds 1..12", register()));
    assert_eq!(status(&right), 0, "{}", stdout(&right));
    let line = "--nodes 3 --for 20 --linearizable register --seeds 13..14";
    let wrong = run(&format!("test {} -D NO_WRITE_BACK=1 {line}", register()));
    assert_eq!(status(&wrong), 1, "{}", stdout(&wrong));
    let text = stdout(&wrong);
    let failure = "tidemill: register history: no order of these operations has their results";
    assert!(text.contains(failure), "{text}");
    // The output is short: of the notes of a run eight are printed, including the first.
    let failed = text.lines().filter(|line| line.ends_with(" failed")).count();
    // The seeds are followed by their groups: `2 seeds fail alike`.
    let is_group = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    let seeds = text.lines().take_while(|line| !is_group(line));
    assert_eq!(seeds.filter(|line| line.contains(failure)).count(), failed, "{text}");
    // Clock faults would falsify the histories.
    assert!(!text.contains("--skew"), "{text}");
    let clocks = format!("test {} --linearizable register --faults clock", register());
    assert_eq!(status(&run(&clocks)), 2);
    let command = text.lines().find_map(|line| line.strip_prefix("  tidemill sim ")).expect("one");
    let again = run(&format!("sim {command}"));
    assert_eq!(status(&again), 1);
    assert!(stderr(&again).contains(failure), "{}", stderr(&again));
    let summary = stdout(&again);
    assert!(summary.contains("operations, not linearizable; seed"), "{summary}");
    // Several workers record the same.
    assert_eq!(stdout(&run(&format!("sim {command} --workers 2"))), summary);
}

/// A crash removes nothing from a history: the recorded operations were observed.
#[test]
fn a_history_outlives_its_node() {
    let folder = Folder::new();
    let file = folder.file(
        "lost.olg",
        "materialize(history, infinity, infinity, keys(2, 6)).\n\
         r1 history(@N, N, \"write\", 1, null, 1, 2) :- periodic(@N, _, 1, 1), NODE_INDEX == 0.\n\
         r2 history(@N, N, \"read\", null, null, 3, 4) :- periodic(@N, _, 3, 1), NODE_INDEX > 0.\n",
    );
    let script = folder.file("crash.sim", "at 2 crash 0\nat 5 end\n");
    let output =
        run(&format!("sim {file} --nodes 2 --script {script} --linearizable register --json"));
    assert_eq!(status(&output), 1);
    let history = "\"history\":{\"model\":\"register\",\"operations\":2,\"linearizable\":false}";
    assert!(stdout(&output).contains(history), "{}", stdout(&output));
    let lines = "  1..2 n0:1 \"n0:1\": write 1 -> null\n  3..4 n1:1 \"n1:1\": read -> null\n";
    assert!(stderr(&output).contains(lines), "{}", stderr(&output));
}

#[test]
fn a_program_without_a_history_has_nothing_to_compare() {
    let folder = Folder::new();
    let file = folder.file("plain.olg", "r1 history(@N, X) :- periodic(@N, X, 1).\n");
    for verb in ["sim", "test"] {
        let output = run(&format!("{verb} {file} --for 1 --linearizable kv"));
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains("--linearizable has no effect here"));
        let output = run(&format!("{verb} {file} --for 1 --linearizable stack"));
        assert!(stderr(&output).contains("there are register, kv, queue, set, counter"));
    }
}
