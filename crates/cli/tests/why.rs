//! `why`: running nodes explain tuples.

use std::process::Output;

use crate::common::node::{Running, wait_until};
use crate::common::{Folder, run, status, stderr, stdout, tidemill};

const RULES: &str = "\
    materialize(neighbour, infinity, infinity, keys(1, 2)).\n\
    materialize(path, infinity, infinity, keys(1, 2)).\n\
    trace(path).\n\
    trace(hello).\n\
    n1 neighbour(@N, L) :- periodic(@N, _, 0, 1), NODE_INDEX > 0, L := LANDMARK.\n\
    h1 hello(@L, N) :- periodic(@N, _, 0.2), neighbour(@N, L).\n\
    h2 path(@L, N, 1) :- hello(@L, N).\n";

fn why(folder: &Folder, address: &str, tuple: &str) -> Output {
    run_why(folder, &[address, tuple])
}

fn run_why(folder: &Folder, words: &[&str]) -> Output {
    let mut command = tidemill();
    command.env("XDG_RUNTIME_DIR", folder.path()).arg("why").args(words);
    command.output().expect("it starts")
}

/// A rule that joins rows of two nodes fails at a condition; the queried node has one of the rows.
#[test]
fn the_term_is_named_that_keeps_a_tuple_from_being_there() {
    let folder = Folder::new();
    let rules = "\
        materialize(link, infinity, infinity, keys(1, 2)).\n\
        materialize(path, infinity, infinity, keys(1, 2, 3)).\n\
        n1 link(@N, L, 5) :- periodic(@N, _, 0, 1), NODE_INDEX > 0, L := LANDMARK.\n\
        n2 link(@N, \"far:1\", 7) :- periodic(@N, _, 0, 1), NODE_INDEX == 0.\n\
        r1 path(@X, Y, C) :- link(@X, Y, C).\n\
        r2 path(@X, Y, C1 + C2) :- link(@X, Z, C1), path(@Z, Y, C2), C1 + C2 < 10.\n";
    let file = folder.file("path.olg", rules);
    let run = Running::start(&folder, "paths", &[&file, "--nodes", "2"]);
    let addresses = run.addresses(2);
    let [first, second] = &addresses[..] else { panic!("{addresses:?}") };
    let tuple = format!("path(\"{second}\", \"far:1\", _)");
    let not = || stdout(&run_why(&folder, &["not", second, &tuple]));
    wait_until("both links", || not().contains("all other terms hold"));
    let lines = not();
    let expected = [
        format!("{tuple}  is not there"),
        format!("├─ r1 at {file}:5:4: there is no link(\"{second}\", \"far:1\", _)"),
        format!("│  └─ link(\"{second}\", \"far:1\", _)  is not there"),
        format!(
            "│     ├─ n1 at {file}:3:4: waits for periodic(@N, _, 0, 1) (0 of 3 terms hold); \
             cannot be evaluated now: NODE_INDEX > 0; L := LANDMARK"
        ),
        format!(
            "│     └─ n2 at {file}:4:4: waits for periodic(@N, _, 0, 1) (0 of 2 terms hold); \
             cannot be evaluated now: NODE_INDEX == 0"
        ),
        format!("└─ r2 at {file}:6:4: not C1 + C2 < 10 with C1 = 5, C2 = 7 (all other terms hold)"),
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected, "{lines}");
    let there = format!("path(\"{second}\", \"{first}\", 5)");
    assert_eq!(stdout(&run_why(&folder, &["not", second, &there])), format!("{there}  is there\n"));
    let unknown = run_why(&folder, &["not", second, "paths(1)"]);
    assert_eq!((status(&unknown), stdout(&unknown).as_str()), (1, ""));
    assert!(stderr(&unknown).contains("no relation `paths`; is `path` meant?"));
    let short = run_why(&folder, &["not", second, "path(1)"]);
    assert_eq!((status(&short), stdout(&short).as_str()), (1, ""));
    let expected = "`path` has 3 columns, location included, not 1";
    assert!(stderr(&short).contains(expected), "{}", stderr(&short));
    let wrong = run_why(&folder, &["nor", second, "path(1)"]);
    assert_eq!(status(&wrong), 2);
}

/// A script expects a row: the event tuple that it has injected is known.
#[test]
fn a_simulation_explains_why_an_expected_row_is_absent() {
    let folder = Folder::new();
    let rules = "\
        materialize(limit, infinity, infinity, keys(1)).\n\
        materialize(taken, infinity, infinity, keys(1, 2)).\n\
        limit(\"n0:1\", 3).\n\
        t1 taken(@N, X) :- offer(@N, X), limit(@N, M), X < M.\n";
    let file = folder.file("taken.olg", rules);
    let script = "at 1 inject n0:1 offer(\"n0:1\", 4)\nat 2 expect n0:1 taken(\"n0:1\", 4)\n";
    let script = folder.file("taken.sim", script);
    let mut command = tidemill();
    let output = command.args(["sim", &file, "--script", &script, "--for", "5"]).output();
    let output = output.expect("it starts");
    assert_eq!(status(&output), 1);
    let expected = format!(
        "taken(\"n0:1\", 4)  is not there\n\
         └─ t1 at {file}:4:4: not X < M with M = 3, X = 4 (all other terms hold)\n"
    );
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
}

/// A script expects that a row is not there.
#[test]
fn a_simulation_says_why_a_row_is_there_that_should_not_be() {
    let folder = Folder::new();
    let rules = "\
        materialize(taken, infinity, infinity, keys(1, 2)).\n\
        t1 taken(@N, X) :- offer(@N, X).\n\
        export(offer).\n";
    let file = folder.file("taken.olg", rules);
    let script = "at 1 inject 0 offer(NODE, 4)\nat 2 expect 0 taken(NODE, _) count 0\n";
    let script = folder.file("taken.sim", script);
    let mut command = tidemill();
    let output = command.args(["sim", &file, "--script", &script, "--for", "5"]).output();
    let output = output.expect("it starts");
    assert_eq!(status(&output), 1);
    let expected = format!(
        "taken(\"n0:1\", 4)  by t1 ({file}:2:4) at 1.000000\n\
         └─ offer(\"n0:1\", 4)  given\n"
    );
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
}

/// Each node is a process of its own, whose record is queried.
#[test]
fn a_tuple_is_followed_to_the_node_that_it_came_from() {
    let folder = Folder::new();
    let file = folder.file("path.olg", RULES);
    let run = Running::start(&folder, "paths", &[&file, "--nodes", "2"]);
    let addresses = run.addresses(2);
    let [first, second] = &addresses[..] else { panic!("{addresses:?}") };
    let path = format!("path(\"{first}\", \"{second}\", 1)");
    wait_until("a path", || status(&why(&folder, first, &path)) == 0);
    let text = stdout(&why(&folder, first, &path));
    let lines: Vec<&str> = text.lines().collect();
    let hello = format!("└─ hello(\"{first}\", \"{second}\")  from {second}, by h1 at ");
    assert!(lines[0].starts_with(&format!("{path}  by h2 at ")), "{text}");
    assert!(lines[1].starts_with(&hello), "{text}");
    let neighbour = format!("neighbour(\"{second}\", \"{first}\")  given");
    assert!(lines[2..].iter().any(|line| line.ends_with(&neighbour)), "{text}");
    assert!(lines[2..].iter().any(|line| line.ends_with("  timer")), "{text}");
    assert_eq!(lines.len(), 4, "{text}");
}

#[test]
fn missing_records_are_reported() {
    let folder = Folder::new();
    let traced = folder.file("path.olg", RULES);
    let plain = folder.file("plain.olg", "r1 a(@N) :- periodic(@N, _, 1).\n");
    let of_traced = [
        ("path(\"x:1\", \"y:1\", 1)", "nothing is recorded"),
        ("path(\"x:1\", 1)", "`path` has 3 columns, location included, not 2"),
        ("paths(\"x:1\", \"y:1\", 1)", "the program has no relation `paths`; is `path` meant?"),
    ];
    let of_plain = [
        ("a(\"x:1\")", "sys::ruleExec"),
        ("a(\"x:1\", 2)", "`a` has 1 columns, location included, not 2"),
        ("b(\"x:1\")", "the program has no relation `b`"),
    ];
    for (file, cases) in [(traced, of_traced), (plain, of_plain)] {
        let run = Running::start(&folder, "run", &[&file, "--nodes", "1"]);
        let addresses = run.addresses(1);
        for (tuple, reason) in cases {
            let output = why(&folder, &addresses[0], tuple);
            assert_eq!(status(&output), 1);
            assert!(stderr(&output).contains(reason), "{tuple}: {}", stderr(&output));
        }
    }
    let wrong = why(&folder, "localhost:1", "path(1");
    assert!(stderr(&wrong).contains("this is no tuple"), "{}", stderr(&wrong));
}

/// The first words of the tuples in the tree that explains a failed simulation.
fn tree(rules: &str, nodes: u32, script: &str) -> Vec<String> {
    let folder = Folder::new();
    let (file, script) = (folder.file("a.olg", rules), folder.file("a.sim", script));
    let output = run(&format!("sim {file} --nodes {nodes} --script {script}"));
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    let text = stderr(&output);
    let lines = text.lines().filter(|line| line.contains(")  "));
    lines.map(|line| line.trim_start_matches(['│', '├', '└', '─', ' ']).to_owned()).collect()
}

/// Rows of views whose key is not the whole row, and of recursive views across nodes, are rows of
/// their tables.
#[test]
fn the_rows_of_all_views_are_in_the_tree() {
    let keyed = "materialize(a, infinity, infinity, keys(1, 2)).\n\
                 materialize(c, infinity, infinity, keys(1)).\n\
                 materialize(d, infinity, infinity, keys(1, 2)).\n\
                 a(NODE, 2).\nr1 c(@N, X) :- a(@N, X).\nr2 d(@N, X) :- c(@N, X).\n";
    let lines = tree(keyed, 1, "at 1 expect 0 d(NODE, _) count 0\n");
    let begins = ["d(\"n0:1\", 2)  by r2 ", "c(\"n0:1\", 2)  by r1 ", "a(\"n0:1\", 2)  given"];
    assert_eq!(lines.len(), begins.len(), "{lines:?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{lines:?}");
    }
    let paths = "materialize(link, infinity, infinity, keys(1, 2)).\n\
                 materialize(reachable, infinity, infinity, keys(1, 2)).\n\
                 link(\"n0:1\", \"n1:1\"). link(\"n1:1\", \"n2:1\").\n\
                 r1 reachable(@N, To) :- link(@N, To).\n\
                 r2 reachable(@N, To) :- link(@N, Peer), reachable(@Peer, To).\n\
                 v violation(@N, To) :- probe(@N, To), reachable(@N, To).\nexport(probe).\n";
    let lines = tree(paths, 3, "at 5 inject 0 probe(NODE, \"n2:1\")\n");
    let begins = [
        "violation(\"n0:1\", \"n2:1\")  by v ",
        "probe(\"n0:1\", \"n2:1\")  given",
        "reachable(\"n0:1\", \"n2:1\")  from n1:1 ",
        "link(\"n0:1\", \"n1:1\")  given",
        "reachable(\"n1:1\", \"n2:1\")  by r1 ",
        "link(\"n1:1\", \"n2:1\")  given",
    ];
    assert_eq!(lines.len(), begins.len(), "{lines:?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{lines:?}");
    }
}
