//! Every run of a program: `explore`.

use std::process::Command;

use crate::common::{Folder, root, run, status, stderr, stdout};

fn program(name: &str) -> String {
    root().join("tests/explore").join(name).display().to_string()
}

/// The summary of a search that must end with this status.
fn summary(line: &str, expected: i32) -> serde_json::Value {
    let output = run(&format!("explore {line} --json -q"));
    let text = stdout(&output);
    assert_eq!(status(&output), expected, "{line}: {text}{}", stderr(&output));
    let last = text.lines().last().expect("a summary");
    let object: serde_json::Value = serde_json::from_str(last).expect(last);
    let [states, distinct] =
        ["states", "distinct"].map(|it| object["summary"][it].as_u64().expect("a number"));
    assert!(states >= distinct, "{line}: {text}");
    object["summary"].clone()
}

/// The number of inputs in the counterexample that a search finds.
fn length(line: &str) -> usize {
    let output = run(&format!("explore {line} --json -q"));
    let text = stdout(&output);
    assert_eq!(status(&output), 1, "{line}: {text}{}", stderr(&output));
    let first: serde_json::Value =
        serde_json::from_str(text.lines().next().expect("one")).expect("it");
    let steps = first["counterexample"]["steps"].as_array().expect("steps").clone();
    steps.iter().filter(|step| step["outside"] == true).count()
}

/// The number of states equals that of models searched by hand-written programs.
#[test]
fn there_are_as_many_states_as_a_plain_search_counts() {
    let folder = Folder::new();
    let one = folder.file("one.sim", "at 0 inject 0 propose(NODE, 1, 7)\n");
    let commit = format!("{} --nodes 3 --script {}", program("commit.olg"), program("commit.sim"));
    let paxos = format!("{} --nodes 5 --script {one}", program("paxos.olg"));
    let write = folder.file("write.sim", "at 0 inject 3 operate(NODE, 1, 1)\n");
    let register = format!("{} --nodes 4 --script {write}", program("register.olg"));
    let ring = format!("{} --nodes 4 --script {}", program("ring.olg"), program("ring.sim"));
    let mutex = format!("{} --nodes 3 --script {}", program("mutex.olg"), program("mutex.sim"));
    let models = [
        ("commit", commit),
        ("paxos-1", paxos),
        ("register-1", register),
        ("ring-4", ring),
        ("mutex", mutex),
    ];
    for (model, line) in models {
        for (mode, option) in [("chains", "--atomic-chains"), ("turns", "--no-reduction")] {
            let mut oracle = Command::new("python3");
            let Ok(counted) = oracle.arg(program("oracle.py")).args([model, mode]).output() else {
                return; // there is no Python
            };
            let counted: u64 = stdout(&counted).trim().parse().expect("a number");
            let found = summary(&format!("{line} {option}"), 0);
            assert_eq!(found["distinct"], counted, "{model} {mode}");
            assert_eq!((&found["complete"], &found["failed"]), (&true.into(), &false.into()));
        }
    }
}

/// Random values that are passed on, stored and compared need not be more than distinct.
#[test]
fn random_values_that_are_only_compared_miss_no_run() {
    let folder = Folder::new();
    let source = "materialize(sent, infinity, infinity, keys(1, 2)).\n\
                  materialize(count, infinity, infinity, keys(1)).\n\
                  materialize(most, infinity, infinity, keys(1)).\n\
                  s1 sent(@N, E) :- periodic(@N, E, 1).\n\
                  s2 ping(@M, N, [E, N]) :- periodic(@N, E, 1), M := LANDMARK.\n\
                  s3 pong(@N, E) :- ping(@M, N, [E | _]), M != N.\n\
                  s4 delete sent(@N, E) :- pong(@N, E).\n\
                  s5 count(@N, a_COUNT<*>) :- sent(@N, _).\n";
    let explored = |more: &str| {
        let file = folder.file("symbols.olg", &format!("{source}{more}"));
        let found = summary(&format!("{file} --nodes 2 --timers 2"), 0);
        found["missed"][0].as_str().map(str::to_owned)
    };
    let equal = ["", "s6 again(@N) :- pong(@N, E), sent(@N, E), E != 7.\n"];
    for more in equal {
        assert_eq!(explored(more), None, "{more}");
    }
    let ordered = [
        "s6 late(@N) :- pong(@N, E), sent(@N, F), E < F.\n",
        "s6 most(@N, a_MAX<E>) :- sent(@N, E).\n",
        "s6 text(@N, T) :- pong(@N, E), T := f_tostr(E).\n",
        "s6 near(@N, E - 1) :- pong(@N, E).\n",
        "g1 violation(@SIM, A, B) :- sent(@A, E), sent(@B, F), E < F, A == B, E == 1.\n",
    ];
    for more in ordered {
        let rule = &more[..2];
        let reason = explored(more).expect(more);
        assert!(reason.starts_with("each random value") && reason.contains(rule), "{reason}");
    }
}

/// With the mistake that each program describes, a search fails, in runs of these lengths.
#[test]
fn the_mistakes_of_the_models_are_found() {
    let models = [("register", "HASTY", 5, 7), ("ring", "ANY", 3, 9), ("mutex", "POLITE", 3, 6)];
    for (model, mistake, nodes, expected) in models {
        let [file, script] = ["olg", "sim"].map(|it| program(&format!("{model}.{it}")));
        let line = format!("{file} --nodes {nodes} --script {script} --atomic-chains");
        assert_eq!(length(&format!("{line} -D {mistake}=1")), expected, "{model}");
        if model != "register" {
            assert_eq!(summary(&line, 0)["complete"], true, "{model}");
        }
    }
}

/// A counterexample of two-phase commit is readable on its own.
#[test]
fn a_counterexample_is_a_shortest_and_can_be_read() {
    let script = program("commit.sim");
    let line = format!("{} -D IMPATIENT=1 --nodes 3 --script {script}", program("commit.olg"));
    let output = run(&format!("explore {line} -q"));
    assert_eq!(status(&output), 1);
    let expected = "\
violation(\"n1:1\", \"commit\", \"abort\") (rule v1) at n1:1, in a run of 7 steps:
  1. n0:1 gets start(\"n0:1\") from the script
       sends prepare(\"n1:1\", \"n0:1\") to n1:1
       sends prepare(\"n2:1\", \"n0:1\") to n2:1
  2. n1:1 receives prepare(\"n1:1\", \"n0:1\") from n0:1
       + choice(\"n1:1\", \"yes\")
       sends vote(\"n0:1\", \"n1:1\", \"yes\") to n0:1
  3. n2:1 receives prepare(\"n2:1\", \"n0:1\") from n0:1
       + choice(\"n2:1\", \"yes\")
       sends vote(\"n0:1\", \"n2:1\", \"yes\") to n0:1
  4. n0:1 receives vote(\"n0:1\", \"n1:1\", \"yes\") from n1:1
       + voted(\"n0:1\", \"n1:1\")
       + votes(\"n0:1\", 1)
  5. n0:1 receives vote(\"n0:1\", \"n2:1\", \"yes\") from n2:1
       - votes(\"n0:1\", 1)
       + voted(\"n0:1\", \"n2:1\")
       + votes(\"n0:1\", 2)
     n0:1 goes on with votes(\"n0:1\", 2):
       sends told(\"n1:1\", \"commit\") to n1:1
       sends told(\"n2:1\", \"commit\") to n2:1
  6. n1:1: the timer of p6 fires
       + decision(\"n1:1\", \"abort\")
  7. n1:1 receives told(\"n1:1\", \"commit\") from n0:1
       - decision(\"n1:1\", \"abort\")
       + decision(\"n1:1\", \"commit\")
       violation(\"n1:1\", \"commit\", \"abort\") (rule v1)
";
    let text = stdout(&output);
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("; failed in a run of 7 steps; "), "{text}");
    for options in ["--no-reduction", "--atomic-chains", "--timers 1", "--duplicates 1 --drops 1"] {
        assert_eq!(length(&format!("{line} {options}")), 7, "{options}");
    }
    // Without timers no participant times out.
    assert_eq!(summary(&format!("{line} --timers 0"), 0)["complete"], true);
    let paxos = format!("{} --nodes 5 --script {}", program("paxos.olg"), program("paxos.sim"));
    assert_eq!(length(&format!("{paxos} -D FORGETFUL=1 --atomic-chains")), 18);
}

/// A failing run is a script that fails in a simulation.
#[test]
fn a_run_that_fails_can_be_saved() {
    let folder = Folder::new();
    let found = folder.path().join("found.sim").display().to_string();
    let cases = [
        format!(
            "{} -D IMPATIENT=1 --nodes 3 --script {}",
            program("commit.olg"),
            program("commit.sim")
        ),
        format!(
            "{} --nodes 3 --crashes 1 --script {}",
            program("election.olg"),
            program("election.sim")
        ),
    ];
    for line in cases {
        let output = run(&format!("explore {line} --save {found}"));
        assert_eq!(status(&output), 1, "{}", stderr(&output));
        assert!(stderr(&output).contains("repeats this run"), "{}", stderr(&output));
        let (file, options) = line.split_once(" --nodes").expect("an option");
        let output = run(&format!("sim {file} --script {found}"));
        assert_eq!(status(&output), 1, "{options}: {}", stderr(&output));
        let err = stderr(&output);
        assert!(err.contains("violation(") && stdout(&output).contains("violations: 1"), "{err}");
    }
    // What was found is printed, even if it cannot be written.
    let nowhere = folder.path().join("nowhere/found.sim").display().to_string();
    let commit = format!("{} --nodes 3 --script {}", program("commit.olg"), program("commit.sim"));
    let output = run(&format!("explore -D IMPATIENT=1 {commit} --save {nowhere}"));
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("cannot write the script"), "{}", stderr(&output));
    assert!(stdout(&output).contains("in a run of 7 steps"), "{}", stdout(&output));
    // Nothing is written if nothing fails.
    let fine = folder.path().join("fine.sim").display().to_string();
    summary(&format!("{commit} --save {fine}"), 0);
    assert!(!folder.path().join("fine.sim").exists());
}

/// A failing run is explained and drawn, as by a simulation; one that no simulation repeats is not.
#[test]
fn a_run_that_fails_is_explained_and_drawn() {
    let folder = Folder::new();
    let drawn = folder.path().join("found.svg");
    let commit = format!("{} --nodes 3 --script {}", program("commit.olg"), program("commit.sim"));
    let output = run(&format!("explore -D IMPATIENT=1 {commit} --svg {}", drawn.display()));
    assert_eq!(status(&output), 1);
    let err = stderr(&output);
    assert!(err.contains("violation(\"n1:1\", \"commit\", \"abort\")  by v1 ("), "{err}");
    assert!(err.contains("  by p6 ("), "{err}");
    let picture = std::fs::read_to_string(&drawn).expect("a picture");
    assert!(picture.starts_with("<svg") && picture.contains("told"), "{picture}");
    // Nothing of it is printed with -q, or drawn if nothing fails.
    let output = run(&format!("explore -D IMPATIENT=1 {commit} -q"));
    assert_eq!(stderr(&output), "");
    let fine = folder.path().join("fine.svg");
    summary(&format!("{commit} --svg {}", fine.display()), 0);
    assert!(!fine.exists());
    // A message that answers one of a node overtakes the change of that node's own turn.
    let stale = "\
        materialize(member, infinity, infinity, keys(2)).\n\
        materialize(members, infinity, 1, keys(1)).\n\
        materialize(noted, infinity, 1, keys(1)).\n\
        m1 add(@M, 1, N) :- tell(@N, M).\n\
        m2 member(@N, X) :- add(@N, X, _).\n\
        m3 members(@N, a_COUNT<*>) :- member(@N, _).\n\
        m4 added(@M, N) :- add(@N, 1, M).\n\
        m5 add(@M, 2, N) :- added(@N, M).\n\
        m6 counted(@N, Count) :- members(@N, Count).\n\
        m7 noted(@N, Count) :- counted(@N, Count).\n\
        m8 compare(@N, Count) :- noted(@N, Count).\n\
        v1 violation(@N, Count) :- compare(@N, Count), members(@N, Now), Count < Now.\n";
    let file = folder.file("stale.olg", stale);
    let script = folder.file("stale.sim", "at 0 inject 0 tell(NODE, \"n1:1\")\n");
    let nowhere = folder.path().join("stale.svg");
    let line = format!("explore {file} --nodes 2 --script {script} --svg {}", nowhere.display());
    let output = run(&line);
    assert_eq!(status(&output), 1);
    let err = stderr(&output);
    assert!(err.contains("the violation is not explained") && err.contains("is drawn"), "{err}");
    assert!(!nowhere.exists());
}

/// The summary has what the search took.
#[test]
fn the_summary_has_time_and_memory() {
    let found = summary(&format!("{} --nodes 2", program("election.olg")), 0);
    let cost = |key: &str| found["cost"][key].as_u64();
    assert!(cost("cpu_ms").is_some_and(|ms| ms < 60_000), "{found}");
    let (most, each) = (cost("memory_bytes_max"), cost("memory_bytes_per_state"));
    let distinct = found["distinct"].as_u64().expect("a number");
    assert_eq!(most.map(|bytes| bytes / distinct), each, "{found}");
    assert!(most.is_some_and(|bytes| bytes > 1 << 20), "{found}");
}

/// Faulty programs with the number of inputs that it takes to fail, and the options that permit
/// these.
const MISTAKES: [(&str, &str, usize); 10] = [
    // Message reordering.
    (
        "materialize(seen, infinity, infinity, keys(1)).\n\
         r1 set(@M, 1) :- go(@N, M).\nr2 set(@M, 2) :- more(@N, M).\n\
         r3 seen(@N, X) :- set(@N, X).\nr4 violation(@N) :- set(@N, 1), seen(@N, 2).\n",
        "--inject go(\"n0:1\",\"n1:1\") --inject more(\"n0:1\",\"n1:1\")",
        2,
    ),
    // Message duplication.
    (
        "materialize(count, infinity, infinity, keys(1)).\ncount(NODE, 0).\n\
         r1 add(@M) :- go(@N, M).\nr2 count(@N, New) :- add(@N), count(@N, X), New := X + 1.\n\
         r3 violation(@N) :- count(@N, 2).\n",
        "--duplicates 1 --inject go(\"n0:1\",\"n1:1\")",
        2,
    ),
    // A crash forgets a promise.
    (
        "materialize(kept, infinity, infinity, keys(1)).\n\
         materialize(done, infinity, infinity, keys(1)).\n\
         r1 keep(@M, N) :- go(@N, M).\nr2 kept(@N) :- keep(@N, _).\n\
         r3 done(@M, N) :- keep(@N, M).\n\
         r4 ask(@M, N) :- done(@N, M).\nr5 violation(@N) :- ask(@N, _), notin kept(@N).\n",
        "--crashes 1 --inject go(\"n0:1\",\"n1:1\")",
        4,
    ),
    // The delta of a row is a turn of its own, before which a message arrives.
    (
        "materialize(open, infinity, infinity, keys(1)).\n\
         materialize(shut, infinity, infinity, keys(1)).\n\
         r1 put(@M) :- go(@N, M).\nr2 look(@M) :- go(@N, M).\nr3 open(@N) :- put(@N).\n\
         r4 close(@N) :- open(@N).\nr5 shut(@N) :- close(@N).\n\
         r6 violation(@N) :- look(@N), open(@N), notin shut(@N).\n",
        "--inject go(\"n0:1\",\"n1:1\")",
        2,
    ),
    // A random choice has two results, twice.
    (
        "r1 flip(@N, A, B) :- go(@N, _), A := f_coinFlip(0.001), B := f_coinFlip(0.999).\n\
         r2 violation(@N) :- flip(@N, true, false).\n",
        "--inject go(\"n0:1\",\"\")",
        0,
    ),
    // A timer of two seconds fires after a timer of one second has fired twice.
    (
        "materialize(count, infinity, infinity, keys(1)).\ncount(NODE, 0).\n\
         r1 count(@N, New) :- periodic(@N, _, 1), count(@N, X), New := X + 1, NODE_INDEX == 0.\n\
         r2 violation(@N) :- periodic(@N, _, 2), count(@N, 2), NODE_INDEX == 0.\n",
        "",
        3,
    ),
    // The last of several rows decides, and rows arrive in any order.
    (
        "materialize(row, infinity, infinity, keys(2)).\n\
         materialize(last, infinity, infinity, keys(1)).\n\
         r1 put(@M, 1) :- go(@N, M).\nr2 put(@M, 2) :- go(@N, M).\nr3 row(@N, X) :- put(@N, X).\n\
         r4 last(@N, X) :- read(@N), row(@N, X).\nr5 see(@N) :- last(@N, X).\n\
         r6 read(@M) :- more(@N, M).\n\
         r7 violation(@N) :- see(@N), last(@N, 1), row(@N, 2).\n",
        "--inject go(\"n0:1\",\"n1:1\") --inject more(\"n0:1\",\"n1:1\")",
        3,
    ),
    // Two nodes hold the same, and neither knows of the other.
    (
        "materialize(holds, infinity, infinity, keys(1)).\n\
         r1 take(@M) :- go(@N, M).\nr2 holds(@N) :- take(@N).\n\
         g1 violation(@SIM, A, B) :- holds(@A), holds(@B), A < B.\n",
        "--inject go(\"n0:1\",\"n0:1\") --inject go(\"n0:1\",\"n1:1\")",
        1,
    ),
    // A crash loses the state that all rely on.
    (
        "materialize(rely, infinity, infinity, keys(1)).\n\
         materialize(copy, infinity, infinity, keys(1)).\n\
         r1 keep(@M, N) :- go(@N, M).\nr2 copy(@N) :- keep(@N, _).\n\
         r3 kept(@M) :- keep(@N, M).\nr4 rely(@N) :- kept(@N).\n\
         g1 violation(@SIM, A) :- rely(@A), notin copy(@_).\n",
        "--crashes 1 --inject go(\"n0:1\",\"n1:1\")",
        3,
    ),
    // A lease has expired at the grantor, and not yet at the holder.
    (
        "materialize(lease, 2, infinity, keys(1)).\n\
         materialize(holds, infinity, infinity, keys(1)).\n\
         r1 grant(@M) :- want(@N, M), notin lease(@N).\n\
         r2 lease(@N) :- want(@N, M), notin lease(@N).\n\
         r3 holds(@N) :- grant(@N).\nr4 want(@N, M) :- go(@M, N).\n\
         g1 violation(@SIM, A, B) :- holds(@A), holds(@B), A < B.\n",
        "--inject go(\"n0:1\",\"n1:1\") --inject go(\"n1:1\",\"n1:1\")",
        3,
    ),
];

/// The result does not depend on the reduction and the order of the search.
#[test]
fn all_ways_to_search_find_the_same() {
    let folder = Folder::new();
    for (number, (source, options, steps)) in MISTAKES.into_iter().enumerate() {
        let file = folder.file(&format!("mistake-{number}.olg"), source);
        let line = format!("{file} --nodes 2 {options}");
        for way in ["", "--no-reduction", "--workers 2"] {
            assert_eq!(length(&format!("{line} {way}")), steps, "{source}{way}");
        }
        for way in ["--depth-first", "--depth-first --no-reduction"] {
            summary(&format!("{line} {way}"), 1);
        }
        // Or the nodes differ.
        let output = run(&format!("explore {line} --symmetry --json -q"));
        let is_symmetric = status(&output) == 1;
        assert!(is_symmetric || stderr(&output).contains("nothing to act on"), "{source}");
        if is_symmetric {
            assert_eq!(length(&format!("{line} --symmetry")), steps, "{source}");
        }
        // With one input less no run fails.
        if let Some(fewer) = steps.checked_sub(1) {
            for way in ["", "--no-reduction"] {
                let found = summary(&format!("{line} {way} --depth {fewer}"), 0);
                assert_eq!(found["complete"], false, "{source}");
            }
        }
    }
}

/// The output without time and memory, which differ from run to run.
fn without_cost(output: &str) -> String {
    match output.split_once(",\"cost\":{") {
        Some((before, after)) => {
            format!("{before}{}", after.split_once('}').expect("the end of the object").1)
        }
        None => output.to_owned(),
    }
}

/// What is printed does not depend on the number of threads.
#[test]
fn several_threads_print_what_one_prints() {
    let commit = format!("{} --nodes 3 --script {}", program("commit.olg"), program("commit.sim"));
    let election =
        format!("{} --nodes 3 --script {}", program("election.olg"), program("election.sim"));
    let paxos = format!("{} --nodes 5 --script {}", program("paxos.olg"), program("paxos.sim"));
    let lines = [
        format!("{commit} --crashes 1"),
        format!("{commit} -D IMPATIENT=1"),
        format!("{commit} -D IMPATIENT=1 --symmetry"),
        format!("{commit} --drops 1 --duplicates 2"),
        format!("{commit} --drops 1 --duplicates 1 --symmetry --no-reduction"),
        format!("{commit} -D IMPATIENT=1 --depth 6"),
        format!("{election} --crashes 1"),
        format!("{election} --crashes 1 --symmetry"),
        format!("{paxos} --atomic-chains --symmetry"),
        format!("{paxos} --atomic-chains --symmetry -D FORGETFUL=1"),
    ];
    for line in lines {
        for json in ["", "--json"] {
            let printed = |workers: u32| {
                let output = run(&format!("explore {line} {json} --workers {workers} -q"));
                (status(&output), without_cost(&stdout(&output)))
            };
            let one = printed(1);
            for workers in [2, 5] {
                assert_eq!(printed(workers), one, "{line}");
            }
        }
    }
    let output = run(&format!("explore {commit} --depth-first --workers 2"));
    assert_eq!(status(&output), 2, "{}", stderr(&output));
    // A limit ends all threads.
    let found = summary(&format!("{paxos} --memory 20M --workers 3"), 0);
    assert_eq!(found["missed"][0], "the memory was used up");
}

/// Nodes that a program cannot tell apart are taken for one another, and only these.
#[test]
fn nodes_that_a_program_cannot_tell_apart_are_interchangeable() {
    let folder = Folder::new();
    let one = folder.file("one.sim", "at 0 inject 0 propose(NODE, 1, 7)\n");
    let commit = format!("{} --nodes 3 --script {}", program("commit.olg"), program("commit.sim"));
    let election =
        format!("{} --nodes 3 --script {}", program("election.olg"), program("election.sim"));
    let paxos = format!("{} --nodes 5 --script {one}", program("paxos.olg"));
    let cases = [
        (commit.clone(), 0, vec!["n1:1", "n2:1"]),
        (format!("{commit} -D IMPATIENT=1"), 1, vec!["n1:1", "n2:1"]),
        (format!("{commit} -D IMPATIENT=1 --atomic-chains"), 1, vec!["n1:1", "n2:1"]),
        (format!("{commit} --drops 1 --duplicates 1"), 1, vec!["n1:1", "n2:1"]),
        // Both stand, and no rule reads LANDMARK.
        (election.clone(), 0, vec!["n0:1", "n1:1"]),
        (format!("{election} --crashes 1"), 1, vec!["n0:1", "n1:1"]),
        (format!("{paxos} --atomic-chains"), 0, vec!["n1:1", "n2:1", "n3:1"]),
    ];
    for (line, status, nodes) in cases {
        let [full, symmetric] =
            ["", "--symmetry"].map(|it| summary(&format!("{line} {it}"), status));
        assert_eq!(symmetric["interchangeable"], serde_json::json!([nodes]), "{line}");
        let [all, classes] =
            [&full, &symmetric].map(|it| it["distinct"].as_u64().expect("a number"));
        assert!(classes * 3 < all * 2, "{line}: {classes} of {all}");
        assert_eq!(symmetric["complete"], full["complete"], "{line}");
        if status == 1 {
            assert_eq!(length(&format!("{line} --symmetry")), length(&line), "{line}");
        }
    }
    let apart = [
        ("r1 p(@N) :- go(@N), NODE_INDEX == 1.\nr2 violation(@N) :- p(@N).\n", 1),
        ("r1 p(@N) :- go(@N), N < \"n1:1\".\nr2 violation(@N) :- p(@N).\n", 1),
        ("materialize(p, infinity, infinity, keys(1)).\nr1 p(@N, f_sha1(N)) :- go(@N).\n", 0),
    ];
    for (number, (source, status)) in apart.into_iter().enumerate() {
        let file = folder.file(&format!("apart-{number}.olg"), source);
        let go = [0, 1].map(|node| format!("--inject go(\"n{node}:1\")")).join(" ");
        let found = summary(&format!("{file} --nodes 2 --symmetry {go}"), status);
        let reason = found["asymmetry"].as_str().unwrap_or_default();
        assert!(reason.starts_with("the turn of go(\"n0:1\") tells n0:1 from n1:1"), "{found}");
    }
    // The landmark is another node than those that are alike.
    let source = "materialize(p, infinity, infinity, keys(1)).\n\
                  r1 p(@N) :- go(@N), N == LANDMARK.\n";
    let go = [0, 1, 2].map(|node| format!("--inject go(\"n{node}:1\")")).join(" ");
    let file = folder.file("landmark.olg", source);
    let found = summary(&format!("{file} --nodes 3 --symmetry {go}"), 0);
    assert_eq!(found["interchangeable"], serde_json::json!([["n1:1", "n2:1"]]));
    let output = run(&format!("explore {file} --nodes 1 --symmetry"));
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("nothing to act on"), "{}", stderr(&output));
}

/// Correct programs: the search is complete, and no run fails.
#[test]
fn a_complete_search_is_reported() {
    let folder = Folder::new();
    let calm = [
        // Timers of a node fire in the order of their times.
        (
            "materialize(count, infinity, infinity, keys(1)).\ncount(NODE, 0).\n\
             r1 count(@N, New) :- periodic(@N, _, 1), count(@N, X), New := X + 1.\n\
             r2 violation(@N) :- periodic(@N, _, 9), count(@N, 0).\n",
            "--timers 12",
        ),
        // Rows live for their full lifetime, beside timers of a node that is never late.
        (
            "materialize(row, 2.5, infinity, keys(1)).\n\
             materialize(count, infinity, infinity, keys(1)).\ncount(NODE, 0).\nrow(NODE).\n\
             r1 tick(@N, X) :- periodic(@N, _, 1), count(@N, C), X := C + 1.\n\
             r2 count(@N, X) :- tick(@N, X).\n\
             r3 violation(@N, \"late\") :- tick(@N, X), X >= 3, row(@N).\n\
             r4 violation(@N, \"early\") :- tick(@N, X), X <= 2, notin row(@N).\n",
            "--timers 10 --atomic-chains",
        ),
        // No duplicates and no crashes unless requested.
        (MISTAKES[1].0, "--duplicates 0 --inject go(\"n0:1\",\"n1:1\")"),
        (MISTAKES[2].0, "--inject go(\"n0:1\",\"n1:1\")"),
        // No input arrives between a message and its consequences.
        (MISTAKES[3].0, "--atomic-chains --inject go(\"n0:1\",\"n1:1\")"),
    ];
    for (number, (source, options)) in calm.into_iter().enumerate() {
        let file = folder.file(&format!("calm-{number}.olg"), source);
        for way in ["", "--no-reduction", "--depth-first", "--workers 2"] {
            let found = summary(&format!("{file} --nodes 2 {options} {way}"), 0);
            assert_eq!(found["complete"], true, "{source}{found}");
        }
    }
}

/// Approximations are reported, or refused.
#[test]
fn approximations_are_reported() {
    let folder = Folder::new();
    let missed = [
        ("r1 p(@N, T) :- periodic(@N, _, 1), T := f_now().\n", "", "the clock"),
        ("r1 p(@N, E) :- periodic(@N, E, 1), E > 5.\n", "", "each random value"),
        ("r1 p(@N, E) :- periodic(@N, _, 1), E := f_idgen() + 1.\n", "", "each random value"),
        ("e(NODE, f_rand()).\nr1 p(@N) :- e(@N, _).\n", "", "a fact has one of many values"),
        ("r1 p(@N) :- periodic(@N, _, 1).\n", "--depth 2", "runs of more than 2 steps"),
    ];
    for (source, options, reason) in missed {
        let file = folder.file("missed.olg", source);
        let found = summary(&format!("{file} {options}"), 0);
        assert_eq!(found["complete"], false, "{source}");
        assert!(found["missed"][0].as_str().expect("a reason").starts_with(reason), "{found}");
    }
    let many = format!("{} --nodes 5 --script {}", program("paxos.olg"), program("paxos.sim"));
    let found = summary(&format!("{many} --memory 20M"), 0);
    assert_eq!(found["missed"][0], "the memory was used up");
    let lists = "materialize(p, infinity, infinity, keys(1)).\nr1 p(@N) :- e(@N).\n\
                 g1 violation(@SIM, L) :- a_MKLIST((), (L), p(@L)), f_size(L) > 5.\n";
    let found = summary(&folder.file("lists.olg", lists), 0);
    assert!(found["missed"][0].as_str().expect("a reason").starts_with("a list has"), "{found}");
    let whole = "materialize(p, infinity, infinity, keys(1)).\n\
                 materialize(unsettled, infinity, infinity, keys(1)).\nr1 p(@N) :- e(@N).\n\
                 r2 unsettled(@N) :- p(@N).\n\
                 r3 history(@N, 1, \"read\", null, null, 0, null) :- e(@N).\n";
    let found = summary(&folder.file("whole.olg", whole), 0);
    assert_eq!(found["ignored"], serde_json::json!(["unsettled", "history"]));
    let refused = [
        ("stage.olg", "stage(\"TOKENIZER\", a, b).\nr1 a(@N, \" \", \"\") :- e(@N).\n", "operator"),
        ("sys.olg", "r1 p(@N, X) :- e(@N), sys::table(@N, X, _, _, _, _, _).\n", "sys::table"),
        (
            "views.olg",
            "materialize(p, infinity, infinity, keys(1, 2)).\n\
             materialize(q, infinity, infinity, keys(1, 2)).\nr1 q(@M, N) :- p(@N, M).\n\
             r2 p(@N, N) :- e(@N).\n",
            "the delivery of views",
        ),
        (
            "all.olg",
            "materialize(p, infinity, infinity, keys(1)).\nr1 p(@N) :- e(@N).\n\
             g1 violation(@SIM, X, T) :- p(@X), T := f_now().\n",
            "all.olg:3:4: rule g1 says more than what nodes hold",
        ),
        ("hello.com", "COMPONENT Hello; BEGIN WRITE(1) END Hello;\n", "programs of rules alone"),
    ];
    for (name, source, reason) in refused {
        let file = folder.file(name, source);
        let output = run(&format!("explore {file}"));
        let err = stderr(&output);
        assert!(err.contains(reason), "{name}: {err}");
        assert_eq!(status(&output), 2, "{name}: {err}");
    }
}
