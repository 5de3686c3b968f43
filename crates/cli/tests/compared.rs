//! Mutants compared with the program by their searches: `test --mutants --explore`.

use std::process::Output;

use crate::common::{Folder, status, stderr, stdout, tidemill};

/// Without faults no offer comes twice, so seeds do not miss the guard of `t1`.
const RULES: &str = "\
    materialize(taken, infinity, infinity, keys(2)).\n\
    s1 offer(@M, X) :- start(@N, M, X).\n\
    t1 take(@M, X) :- offer(@M, X), notin taken(@M, X), X != 77.\n\
    t2 taken(@M, X) :- take(@M, X).\n\
    v1 violation(@M, X) :- take(@M, X), taken(@M, X).\n";

const SCRIPT: &str = "at 0 inject 0 start(NODE, \"n1:1\", 5)\n";

struct Fixture {
    folder: Folder,
    rules: String,
    script: String,
}

impl Fixture {
    fn new(rules: &str) -> Fixture {
        let folder = Folder::new();
        let (rules, script) = (folder.file("take.olg", rules), folder.file("take.sim", SCRIPT));
        Fixture { folder, rules, script }
    }

    /// Tests the mutants, explored with these options.
    fn test(&self, bounds: &str, further: &[&str]) -> Output {
        let mut command = tidemill();
        command.args(["test", &self.rules, "--nodes", "2", "--for", "5", "--seeds", "1..3"]);
        command.args(["--faults", "none", "--script", &self.script, "--mutants", "-q"]);
        command.args(["--explore", bounds]).args(further).output().expect("it starts")
    }

    /// With a lost, a repeated and a reordered message.
    fn bounds(&self) -> String {
        format!("--nodes 2 --drops 1 --duplicates 1 --script {}", self.script)
    }
}

#[test]
fn mutants_that_reach_the_same_states_are_equivalent_within_the_bounds() {
    let it = Fixture::new(RULES);
    let output = it.test(&it.bounds(), &[]);
    let (text, file) = (stdout(&output), &it.rules);
    let line = |change: &str| {
        let found = text.lines().find(|line| line.contains(change));
        found.unwrap_or_else(|| panic!("{text}{}", stderr(&output))).to_owned()
    };
    let same = line("without X != 77");
    let start = format!("equivalent within the bounds, survived 3 runs: t1 ({file}:3:1) without");
    assert!(same.starts_with(&start) && same.contains("; explored: the same "), "{same}");
    let wrong = line("without notin taken");
    assert!(wrong.starts_with("survived 3 runs: t1 "), "{wrong}");
    let failed = "; explored: violation(\"n1:1\", 5) (rule v1) at n1:1, in a run of 3 steps";
    assert!(wrong.ends_with(failed), "{wrong}");
    let fewer = line("t2 (");
    assert!(fewer.contains(" states instead of ") || fewer.contains("not the same"), "{fewer}");
    assert!(text.contains(" survived, 1 equivalent within the bounds; "), "{text}");
    assert_eq!(status(&output), 1);
}

#[test]
fn judgements_and_searches_agree() {
    let it = Fixture::new(RULES);
    let list = "# Nobody offers 77.\nt1 without X != 77\n";
    let right = it.folder.file("right.txt", list);
    let output = it.test(&it.bounds(), &["--equivalent", &right]);
    let text = stdout(&output);
    assert!(text.contains("equivalent within the bounds, judged equivalent, survived"), "{text}");
    // Each is counted once.
    assert!(text.contains(" survived, 1 equivalent within the bounds; "), "{text}");
    assert!(!text.contains("judged equivalent, but found"), "{text}");
    let wrong = it.folder.file("wrong.txt", &format!("{list}t1 without notin taken(@M, X)\n"));
    let output = it.test(&it.bounds(), &["--equivalent", &wrong]);
    let text = stdout(&output);
    assert!(text.ends_with("; 1 judged equivalent, but found\n"), "{text}");
    assert_eq!(status(&output), 1);
}

#[test]
fn objects_have_what_a_search_shows() {
    let it = Fixture::new(RULES);
    let text = stdout(&it.test(&it.bounds(), &["--json"]));
    let objects: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let of = |change: &str| {
        let mutants = objects.iter().map(|object| &object["mutant"]);
        mutants.into_iter().find(|it| it["change"] == change).expect(change)
    };
    let same = of("without X != 77");
    assert_eq!(
        (&same["fate"], &same["explored"]["equivalent"]),
        (&"survived".into(), &true.into())
    );
    let wrong = of("without notin taken(@M, X)");
    assert_eq!(wrong["explored"]["equivalent"], false);
    assert!(wrong["explored"]["failure"].as_str().expect("one").starts_with("violation("));
    let summary = &objects.last().expect("one")["summary"];
    assert_eq!(summary["equivalent_within_bounds"], 1);
    assert_eq!(summary["judged_equivalent"], 0);
    let parts = ["found", "survived", "judged_equivalent", "equivalent_within_bounds"];
    let sum: u64 = parts.iter().map(|part| summary[part].as_u64().expect(part)).sum();
    assert_eq!(summary["mutants"], sum);
}

#[test]
fn the_program_must_have_a_complete_search() {
    let it = Fixture::new(RULES);
    let failed = |output: Output, expected: i32, reason: &str| {
        let text = stderr(&output);
        assert!(text.contains(reason), "{text}");
        assert_eq!((status(&output), stdout(&output).as_str()), (expected, ""), "{text}");
    };
    let shallow = it.test(&format!("{} --depth 1", it.bounds()), &[]);
    failed(
        shallow,
        1,
        "the search of the program itself is not complete: runs of more than 1 step",
    );
    failed(it.test("--nodes 2 --json", &[]), 2, "--json");
    failed(it.test("--nodes two", &[]), 2, "is no number of nodes");
    let missing = it.test("--script missing.sim", &[]);
    failed(missing, 1, "missing.sim: cannot read the script");
    let fails = Fixture::new(&RULES.replace("notin taken(@M, X), ", ""));
    failed(fails.test(&fails.bounds(), &[]), 1, "the program itself finds violation(\"n1:1\", 5)");
    let clock = RULES.replace("X != 77", "f_now() > 0");
    let clock = Fixture::new(&clock);
    failed(clock.test(&clock.bounds(), &[]), 1, "the clock moves with timers only and is read");
    let mut alone = tidemill();
    alone.args(["test", &it.rules, "--explore", "--nodes 2"]);
    failed(alone.output().expect("it starts"), 2, "--mutants");
}
