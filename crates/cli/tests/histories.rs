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
    assert!(summary.contains(" returned, not linearizable; seed"), "{summary}");
    // Several workers record the same.
    assert_eq!(stdout(&run(&format!("sim {command} --workers 2"))), summary);
}

/// Failures differ in the operations that they name, and are one group all the same.
#[test]
fn a_test_counts_operations_and_groups_failures_of_histories() {
    let folder = Folder::new();
    let program = folder.file(
        "stale.olg",
        "materialize(value, infinity, 1, keys(1)).\n\
         value(NODE, 0).\n\
         w1 value(@N, X) :- periodic(@N, X, 3), f_coinFlip(0.5).\n\
         h1 history(@N, N, \"write\", X, null, f_now(), f_now()) :- periodic(@N, X, 2).\n\
         h2 history(@N, N, \"read\", null, X, f_now(), f_now()) :- periodic(@N, _, 5), \
         value(@N, X).\n",
    );
    let line = "--linearizable register --faults none --seeds 1..10 --for 20";
    let output = run(&format!("test {program} {line}"));
    let text = stdout(&output);
    let group = "10 seeds fail alike, the first is 1: register history: no order has the results\n";
    assert!(status(&output) == 1 && text.contains(group), "{text}");
    // Ten writes and four reads in each run.
    let summary = "histories: 140 operations, 140 returned\n";
    assert!(text.contains(summary), "{text}");
    let pending = folder.file(
        "pending.olg",
        "h1 history(@N, N, \"write\", X, null, f_now(), null) :- periodic(@N, X, 1).\n",
    );
    let output = run(&format!("test {pending} {line}"));
    assert!(status(&output) == 0 && stdout(&output).contains("200 operations, 0 returned\n"));
    assert!(stderr(&output).contains("there was nothing to compare"), "{}", stderr(&output));
}

/// The model of a register as rules has the verdicts of the built-in one.
#[test]
fn a_model_may_be_written_as_rules() {
    let model = root().join("tests/histories/model.olg").display().to_string();
    let line = format!("--nodes 3 --for 20 --linearizable {model} --seeds 13..14 --no-shrink");
    let right = run(&format!("test {} {line} --faults latency,loss", register()));
    assert_eq!(status(&right), 0, "{}", stdout(&right));
    let wrong = run(&format!("test {} -D NO_WRITE_BACK=1 {line}", register()));
    let text = stdout(&wrong);
    let failure = "tidemill: model history: no order of these operations has their results";
    assert!(status(&wrong) == 1 && text.contains(failure), "{text}");
    let command = text.lines().find_map(|line| line.strip_prefix("  tidemill sim ")).expect("one");
    assert_eq!(status(&run(&format!("sim {command}"))), 1);
}

/// A lock that is free at first; its holder alone releases it.
const LOCK: &str = "initial(\"free\").\n\
    step(\"free\", \"acquire\", Who, true, Who).\n\
    step(Holder, \"acquire\", _, false, Holder) :- Holder != \"free\".\n\
    step(Who, \"release\", Who, _, \"free\").\n";

/// Operations of two clients, one a second; the model may have no step for one.
#[test]
fn a_model_has_an_initial_state_and_may_refuse_operations() {
    let folder = Folder::new();
    let model = folder.file("lock.olg", LOCK);
    let program = |second: &str| {
        let history = |client: &str, of: &str, invoked: u32| {
            format!("history(NODE, \"{client}\", {of}, {invoked}, {}).\n", invoked + 1)
        };
        let text = "materialize(history, infinity, infinity, keys(2, 6)).\n".to_owned()
            + &history("a", "\"acquire\", \"a\", true", 1)
            + &history("b", second, 3)
            + &history("a", "\"release\", \"a\", null", 5)
            + &history("b", "\"acquire\", \"b\", true", 7);
        folder.file("locks.olg", &text)
    };
    for (second, expected) in [
        ("\"acquire\", \"b\", false", 0),
        ("\"acquire\", \"b\", true", 1),
        ("\"release\", \"b\", null", 1),
    ] {
        let output = run(&format!("sim {} --linearizable {model}", program(second)));
        assert_eq!(status(&output), expected, "{second}: {}", stderr(&output));
        assert!(stdout(&output).contains("; lock history: 4 operations, "), "{}", stdout(&output));
    }
}

#[test]
fn errors_of_a_model_have_places() {
    let folder = Folder::new();
    let program = folder.file(
        "one.olg",
        "materialize(history, infinity, infinity, keys(2, 6)).\n\
         history(NODE, \"a\", \"add\", 9223372036854775807, null, 1, 2).\n",
    );
    let model = folder.file("wrong.olg", "step(S, \"read\", _, S, S) :- p(S).\n");
    let output = run(&format!("sim {program} --linearizable {model}"));
    assert_eq!(status(&output), 1);
    let place = format!("{model}:1:29: error[model]: the rules of a model read no relations");
    assert!(stderr(&output).contains(&place), "{}", stderr(&output));
    let model = folder.file("adds.olg", "initial(1). s1 step(S, \"add\", N, _, S + N).\n");
    let output = run(&format!("sim {program} --linearizable {model}"));
    assert_eq!(status(&output), 1);
    let reason = "adds history: ";
    assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    assert!(stderr(&output).contains("rule s1 of the model fails: "), "{}", stderr(&output));
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
    let history = "\"history\":{\"model\":\"register\",\"operations\":2,\"returned\":2,\
                   \"linearizable\":false}";
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
