//! Explanations, and that observing does not change a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::program::{LoadOptions, Program};
use crate::sim::{FaultOptions, SimOptions, Simulation};
use crate::tape::taped;

fn simulation(text: &str, nodes: u32) -> Simulation {
    let program = Program::of_text("a.olg", text, &LoadOptions::default());
    let latency = (Duration::from_millis(10), Duration::from_millis(10));
    let faults = FaultOptions { latency, ..FaultOptions::default() };
    let end_ns = Some(20_000_000_000);
    let options = SimOptions { nodes, end_ns, faults, ..SimOptions::default() };
    Simulation::new(program, options).expect("a program")
}

fn why(text: &str, nodes: u32) -> String {
    let explanation = simulation(text, nodes).explain().expect("a loop").expect("no files");
    let why = explanation.why().expect("a violation");
    // The random numbers of periodics.
    let lines = why.to_string();
    let mut shown = String::new();
    for part in lines.split_inclusive(", ") {
        let is_drawn = part.len() > 8 && part.trim_end_matches(", ").parse::<i64>().is_ok();
        shown.push_str(if is_drawn { "E, " } else { part });
    }
    shown
}

/// Programs of rules alone that run by themselves.
fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folders = fs::read_dir(root).expect("examples").filter_map(Result::ok);
    let files = folders.filter_map(|folder| fs::read_dir(folder.path()).ok()).flatten();
    let paths = files.filter_map(Result::ok).map(|file| file.path());
    let mut rules: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "olg")).collect();
    rules.sort();
    rules
}

#[test]
fn a_run_that_is_explained_or_sampled_does_the_same() {
    let mut compared = 0;
    for path in examples() {
        let program = Program::load(std::slice::from_ref(&path), &LoadOptions::default());
        if program.has_errors() {
            continue; // a part of a program
        }
        let options = SimOptions {
            nodes: 5,
            end_ns: Some(12_000_000_000),
            faults: FaultOptions {
                loss: 0.05,
                duplicate: 0.05,
                churn_ns: Some(9_000_000_000),
                ..FaultOptions::default()
            },
            trace: true,
            ..SimOptions::default()
        };
        let Ok(simulation) = Simulation::new(program, options) else { continue };
        if simulation.writes_files() {
            continue;
        }
        let of = |simulation: Simulation| {
            let (console, data, notes) = taped();
            simulation.run(console).expect("a loop");
            (data.text(), notes.text())
        };
        let explained = of(simulation.explained());
        let mut sampled = simulation.clone();
        sampled.options_mut().sample_ns = Some(100_000_000);
        assert!(of(sampled) == explained, "{}", path.display());
        assert!(of(simulation) == explained, "{}", path.display());
        compared += usize::from(explained.0.len() > 1000);
    }
    assert!(compared >= 10, "{compared} programs");
}

#[test]
fn what_came_from_other_nodes_is_followed_there() {
    let text = "\
        p1 ping(@L, N) :- periodic(@N, _, 1, 1), NODE_INDEX == 1, L := LANDMARK.\n\
        p2 pong(@N, L) :- ping(@L, N).\n\
        p3 violation(@N, L) :- pong(@N, L).\n";
    let lines = [
        "violation(\"n1:1\", \"n0:1\")  by p3 (a.olg:3:4) at 1.020000",
        "└─ pong(\"n1:1\", \"n0:1\")  from n0:1 at 1.020000, by p2 (a.olg:2:4) at 1.010000",
        "   └─ ping(\"n0:1\", \"n1:1\")  from n1:1 at 1.010000, by p1 (a.olg:1:4) at 1.000000",
        "      └─ periodic(\"n1:1\", E, 1, 0)  timer",
    ];
    assert_eq!(why(text, 2).lines().collect::<Vec<_>>(), lines);
}

#[test]
fn the_shortest_explanation_comes_first_and_facts_end_it() {
    let text = "\
        materialize(a, infinity, infinity, keys(1, 2)).\n\
        materialize(b, infinity, infinity, keys(1, 2)).\n\
        materialize(c, infinity, infinity, keys(1, 2)).\n\
        a(\"n0:1\", 1).\n\
        v1 b(@N, X + 1) :- a(@N, X).\n\
        v2 c(@N, a_COUNT<*>) :- b(@N, X).\n\
        v3 violation(@N, C, X) :- periodic(@N, _, 1, 1), c(@N, C), a(@N, X).\n";
    assert_eq!(
        why(text, 1),
        "violation(\"n0:1\", 1, 1)  by v3 (a.olg:7:4) at 1.000000\n\
         ├─ periodic(\"n0:1\", E, 1, 0)  timer\n\
         ├─ a(\"n0:1\", 1)  given\n\
         └─ c(\"n0:1\", 1)  by v2 (a.olg:6:4) at 0.000000\n   \
            └─ b(\"n0:1\", 2)  by v1 (a.olg:5:4) at 0.000000\n      \
               └─ a(\"n0:1\", 1)  given\n"
    );
}

/// A rule sees what was there before the turn: the row of the first ping, and not the same one of
/// the second, whatever the order of the rules.
#[test]
fn a_row_is_explained_by_what_was_before_the_turn_that_read_it() {
    let ping = "p1 ping(@N, 7) :- periodic(@N, _, 1, 2).\n";
    let seen = "p2 seen(@N, E) :- ping(@N, E).\n";
    let wrong = "p3 violation(@N, E) :- ping(@N, E), seen(@N, E).\n";
    for rules in [[ping, seen, wrong], [ping, wrong, seen]] {
        let text = format!("materialize(seen, infinity, infinity, keys(2)).\n{}", rules.concat());
        let why = why(&text, 1);
        let made = why.lines().find(|line| line.contains("─ seen(")).unwrap_or_default();
        assert!(made.ends_with(" at 1.000000"), "{why}");
        assert!(!why.contains("see "), "{why}");
    }
}

/// A fact that the same turn puts in again does not follow from what it led to.
#[test]
fn no_tuple_is_explained_by_what_came_of_it() {
    let text = "\
        materialize(fork, infinity, 1, keys(1)).\n\
        fork(\"n0:1\", \"free\").\n\
        t1 give(@N) :- take(@N), fork(@N, \"free\").\n\
        t2 fork(@N, \"taken\") :- give(@N).\n\
        t3 fork(@N, \"free\") :- give(@N).\n\
        t4 violation(@N) :- give(@N).\n\
        p1 take(@N) :- periodic(@N, _, 1, 1).\n";
    assert_eq!(
        why(text, 1),
        "violation(\"n0:1\")  by t4 (a.olg:6:4) at 1.000000\n\
         └─ give(\"n0:1\")  by t1 (a.olg:3:4) at 1.000000\n   \
            ├─ fork(\"n0:1\", \"free\")  given\n   \
            └─ take(\"n0:1\")  by p1 (a.olg:7:4) at 1.000000\n      \
               └─ periodic(\"n0:1\", E, 1, 0)  timer\n"
    );
}

/// A tuple that is used twice is explained nearer to the root.
#[test]
fn what_is_explained_elsewhere_is_above_or_below() {
    let text = "materialize(a, infinity, infinity, keys(1)).\n\
        materialize(b, infinity, infinity, keys(1)).\n\
        materialize(c, infinity, infinity, keys(1)).\n\
        r1 a(@N, 1) :- periodic(@N, _, 1, 1).\n\
        r2 b(@N, X) :- a(@N, X).\n\
        r3 c(@N, X) :- b(@N, X).\n\
        r4 violation(@N) :- periodic(@N, _, 2, 1), b(@N, X), c(@N, X).\n";
    assert_eq!(
        why(text, 1),
        "violation(\"n0:1\")  by r4 (a.olg:7:4) at 2.000000\n\
         ├─ periodic(\"n0:1\", E, 2, 0)  timer\n\
         ├─ c(\"n0:1\", 1)  by r3 (a.olg:6:4) at 1.000000\n\
         │  └─ b(\"n0:1\", 1)  by r2 (a.olg:5:4) at 1.000000, see below\n\
         └─ b(\"n0:1\", 1)  by r2 (a.olg:5:4) at 1.000000\n   \
            └─ a(\"n0:1\", 1)  by r1 (a.olg:4:4) at 1.000000\n      \
               └─ periodic(\"n0:1\", E, 1, 0)  timer\n"
    );
}

#[test]
fn rows_of_all_nodes_are_followed_to_theirs() {
    let text = "\
        materialize(leader, infinity, infinity, keys(1, 2)).\n\
        r1 leader(@N, 7) :- periodic(@N, _, 1, 1).\n\
        g1 violation(@SIM, A, B) :- leader(@A, T), leader(@B, T), A < B.\n";
    let lines = [
        "violation(\"SIM\", \"n0:1\", \"n1:1\")  by g1 (a.olg:3:4) at 1.000000",
        "├─ leader(\"n0:1\", 7)  by r1 (a.olg:2:4) at 1.000000",
        "│  └─ periodic(\"n0:1\", E, 1, 0)  timer",
        "└─ leader(\"n1:1\", 7)  by r1 (a.olg:2:4) at 1.000000",
        "   └─ periodic(\"n1:1\", E, 1, 0)  timer",
    ];
    let mut found: Vec<String> = why(text, 2).lines().map(str::to_owned).collect();
    // Which of two similar ones comes first does not matter.
    if found[1].starts_with("├─ leader(\"n1:1\"") {
        let other = |line: &String| {
            line.replace("n0:1", "n#").replace("n1:1", "n0:1").replace("n#", "n1:1")
        };
        found[1..].iter_mut().for_each(|line| *line = other(line));
    }
    assert_eq!(found, lines);
}

/// Rules over several locations and aggregates over tables are executed in parts.
#[test]
fn a_rule_in_parts_is_one_line() {
    let text = "\
        materialize(link, infinity, infinity, keys(1, 2)).\n\
        materialize(up, infinity, infinity, keys(1)).\n\
        link(\"n0:1\", \"n1:1\").\n\
        up(\"n1:1\").\n\
        r1 seen(@A, B) :- periodic(@A, _, 1, 1), link(@A, B), up(@B).\n\
        r2 violation(@A, B) :- seen(@A, B).\n";
    let tree = why(text, 2);
    let lines: Vec<&str> = tree.lines().collect();
    assert!(lines[0].starts_with("violation(\"n0:1\", \"n1:1\")  by r2"), "{tree}");
    assert!(lines[1].starts_with("└─ seen(\"n0:1\", \"n1:1\")  from n1:1"), "{tree}");
    let ends = ["periodic(\"n0:1\"", "link(\"n0:1\", \"n1:1\")  given", "up(\"n1:1\")  given"];
    assert!(ends.iter().all(|end| lines[2..].iter().any(|line| line.contains(end))), "{tree}");
    assert_eq!(lines.len(), 5, "{tree}");
}

#[test]
fn views_of_other_nodes_are_followed_there() {
    let text = "\
        materialize(a, infinity, infinity, keys(1, 2)).\n\
        materialize(b, infinity, infinity, keys(1, 2)).\n\
        materialize(c, infinity, infinity, keys(1, 2)).\n\
        a(\"n0:1\", \"n1:1\").\n\
        v1 b(@Y, X) :- a(@X, Y).\n\
        v2 c(@X, Y) :- b(@X, Y).\n\
        v3 violation(@X, Y) :- c(@X, Y).\n";
    let tree = why(text, 2);
    let lines: Vec<&str> = tree.lines().collect();
    assert!(lines[2].contains("b(\"n1:1\", \"n0:1\")"), "{tree}");
    assert!(lines[2].contains("from n0:1") && lines[2].contains("by v1"), "{tree}");
    assert!(lines[3].ends_with("a(\"n0:1\", \"n1:1\")  given"), "{tree}");
    assert_eq!(lines.len(), 4, "{tree}");
}

#[test]
fn a_long_chain_is_cut_and_marked() {
    let text = "\
        materialize(n, infinity, infinity, keys(1)).\n\
        n(\"n0:1\", 0).\n\
        r1 n(@N, X + 1) :- n(@N, X), X < 500.\n\
        r2 violation(@N, X) :- n(@N, X), X == 500.\n";
    let text = text.replace("r1 n(@N, X + 1) :- n(@N, X)", "r1 n(@N, X + 1) :- m(@N, X)");
    let text = format!("{text}r0 m(@N, X) :- n(@N, X).\n");
    let tree = why(&text, 1);
    assert_eq!(tree.lines().count(), 64, "{tree}");
    assert!(tree.ends_with("; and more\n"), "{tree}");
}

#[test]
fn without_a_violation_there_is_nothing_to_explain() {
    let simulation = simulation("r1 a(@N) :- periodic(@N, _, 1).\n", 1);
    let explanation = simulation.explain().expect("a loop").expect("no files");
    assert_eq!(explanation.why(), None);
}

/// Lines of a class, and titles, in an SVG.
fn drawn(picture: &str) -> (usize, usize, Vec<&str>) {
    let lines = |class: &str| picture.matches(&format!("<line class=\"{class}\"")).count();
    let titles = picture.split("<title>").skip(1).filter_map(|it| it.split("</title>").next());
    (lines("p"), lines("m"), titles.collect())
}

#[test]
fn what_led_to_the_violation_is_marked_in_the_diagram() {
    let text = "\
        p1 ping(@L, N) :- periodic(@N, _, 1, 1), NODE_INDEX > 0, L := LANDMARK.\n\
        p2 pong(@N, L) :- ping(@L, N).\n\
        p3 violation(@N, L) :- pong(@N, L), N == \"n2:1\".\n";
    let explanation = simulation(text, 3).explain().expect("a loop").expect("no files");
    let picture = explanation.diagram();
    // To the landmark and back; those of the other node arrive at the same times.
    let (marked, others, titles) = drawn(&picture);
    assert_eq!((marked, others), (2, 2), "{picture}");
    let pong = "pong(\"n2:1\", \"n0:1\"), sent at 1.010000, arrives at 1.020000";
    assert!(titles.contains(&pong), "{titles:?}");
    assert!(titles.contains(&"violation(\"n2:1\", \"n0:1\") by p3 (a.olg:3:4) at 1.020000"));
    let places = picture.split("cx=\"").skip(1).filter_map(|it| it.split('"').next());
    let mut places = places.map(|it| it.parse::<f64>().expect("a number"));
    assert!(places.all(|x| (0.0..=1200.0).contains(&x)), "{picture}");
}

#[test]
fn crashes_and_what_does_not_arrive_are_drawn() {
    let text = "\
        p1 ping(@L, N) :- periodic(@N, _, 1), NODE_INDEX > 0, L := LANDMARK.\n\
        p2 seen(@L, N) :- ping(@L, N).\n";
    let mut simulation = simulation(text, 2);
    let faults = &mut simulation.options_mut().faults;
    (faults.loss, faults.churn_ns) = (0.5, Some(5_000_000_000));
    let explanation = simulation.explain().expect("a loop").expect("no files");
    let picture = explanation.diagram();
    let (marked, others, titles) = drawn(&picture);
    assert!(marked == 0 && others > 3, "{picture}");
    let has = |end: &str| titles.iter().filter(|title| title.contains(end)).count();
    assert!(has("n1:1 crashes at ") > 1 && has(", has not arrived") > 3, "{titles:?}");
}

/// A rule requires the absence of a row, which is shown beside it.
#[test]
fn absent_rows_are_shown_beside_the_rule() {
    let text = "materialize(held, infinity, infinity, keys(2)).\n\
        materialize(taken, infinity, infinity, keys(2, 3)).\n\
        r1 ask(@N, 1, X) :- periodic(@N, _, 1, 2), X := NODE_INDEX.\n\
        r2 taken(@N, Lock, X) :- ask(@N, Lock, X), notin held(@N, Lock).\n\
        r3 violation(@N) :- taken(@N, _, _).\n";
    assert_eq!(
        why(text, 1),
        "violation(\"n0:1\")  by r3 (a.olg:5:4) at 1.000000\n\
         └─ taken(\"n0:1\", 1, 0)  by r2 (a.olg:4:4) at 1.000000, no held(\"n0:1\", 1)\n   \
            └─ ask(\"n0:1\", 1, 0)  by r1 (a.olg:3:4) at 1.000000\n      \
               └─ periodic(\"n0:1\", E, 1, 1)  timer\n"
    );
}
