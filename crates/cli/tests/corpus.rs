//! Phases of a run, and tests that keep a corpus of runs: `sim --then` and `test --corpus`.

use std::fs;
use std::process::Output;

use crate::common::{Folder, root, run, status, stderr, stdout, tidemill};

/// A mistake behind a chain of rare states.
fn deep() -> String {
    root().join("tests/faults/deep.olg").display().to_string()
}

/// Runs a printed command line, whose words have no quotes in them.
fn again(command: &str) -> Output {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().collect::<Vec<_>>(),
        _ => vec![part],
    });
    tidemill().args(words).output().expect("the command starts")
}

/// Nodes that choose, churn and lose messages.
const CHOOSING: &str = "\
materialize(got, infinity, infinity, keys(2, 3)).
c1 choice(@M, N, E) :- periodic(@N, E, 0.5), f_coinFlip(0.5), M := LANDMARK.
c2 got(@N, M, E) :- choice(@N, M, E).
watch(got).
";

#[test]
fn a_phase_changes_nothing_before_its_start() {
    let folder = Folder::new();
    let file = folder.file("choosing.olg", CHOOSING);
    let of = |rest: &[&str]| {
        let line = format!("sim {file} --nodes 4 --for 40 --seed 3 --loss 0.2 --churn 9 --slow 5");
        let output = tidemill().args(line.split(' ')).args(rest).output();
        let output = output.expect("the command starts");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    let split = |text: &str| -> (Vec<String>, Vec<String>) {
        let time = |line: &&str| line.split(' ').next().and_then(|it| it.parse::<f64>().ok());
        let lines = text.lines().filter(|line| time(line).is_some());
        lines.map(str::to_owned).partition(|line| time(&&**line).is_some_and(|at| at < 20.0))
    };
    let plain = split(&of(&[]));
    assert!(plain.0.len() > 50 && plain.1.len() > 50, "{plain:?}");
    let same = "20 seed 3 loss 0.2 churn 9 slow 5";
    let phases = [same, "20 seed 4 loss 0.2 churn 9 slow 5", "20 seed 4"];
    let runs = phases.map(|phase| split(&of(&["--then", phase])));
    for (number, (before, after)) in runs.iter().enumerate() {
        assert_eq!(*before, plain.0, "{}", phases[number]);
        assert_ne!(*after, plain.1, "{}", phases[number]);
    }
    assert_ne!(runs[1].1, runs[2].1);
    // Several workers write the same.
    let then = ["--then", "20 seed 4 loss 0.1 churn 5", "--then", "30 seed 5 latency 5..9"];
    assert_eq!(of(&[&then[..], &["--workers", "3"]].concat()), of(&then));
}

#[test]
fn phases_out_of_order_or_after_the_end_are_refused() {
    let folder = Folder::new();
    let file = folder.file("choosing.olg", CHOOSING);
    let of = |phases: &[&str]| {
        let then = phases.iter().flat_map(|phase| ["--then", *phase]);
        let output = tidemill().args(["sim", &file, "--for", "30"]).args(then).output();
        let output = output.expect("the command starts");
        (status(&output), stderr(&output))
    };
    assert_eq!(of(&["10 seed 2", "20 seed 3"]).0, 0);
    let (code, text) = of(&["20 seed 2", "10 seed 3", "30 seed 4"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("--then 10 must come before --then 20"), "{text}");
    assert!(text.contains("--then 30 has no effect here: faults end at 30 s"), "{text}");
    let (code, text) = of(&["20 seed 2 los 1"]);
    assert!(code == 2 && text.contains("`los` is no fault: is loss meant?"), "{text}");
}

#[test]
fn workers_change_neither_output_nor_corpus() {
    let folder = Folder::new();
    let of = |workers: u32| {
        let file = folder.path().join(format!("corpus-{workers}"));
        let corpus = file.display();
        let line = format!("test {} --nodes 2..3 --no-shrink --json", deep());
        let first = run(&format!("{line} --seeds 1..150 --workers {workers} --corpus {corpus}"));
        assert_eq!(stderr(&first).matches("error").count(), 0, "{}", stderr(&first));
        let between = fs::read_to_string(&file).expect("a corpus");
        let second = run(&format!("{line} --seeds 151..250 --workers {workers} --corpus {corpus}"));
        (stdout(&first), between, stdout(&second), fs::read_to_string(&file).expect("a corpus"))
    };
    let one = of(1);
    assert_eq!(one, of(3));
    let figures = |text: &str| -> serde_json::Value {
        let last = text.lines().last().expect("a summary");
        serde_json::from_str::<serde_json::Value>(last).expect(last)["summary"].clone()
    };
    let lines = |text: &str| text.lines().filter(|line| line.starts_with("nodes ")).count();
    let (first, second) = (figures(&one.0), figures(&one.2));
    assert_eq!((&first["runs"], &first["corpus"]["read"]), (&150.into(), &0.into()));
    assert_eq!(first["corpus"]["kept"], lines(&one.1));
    assert!(first["corpus"]["mutations"].as_u64().is_some_and(|it| (30..120).contains(&it)));
    assert_eq!(second["corpus"]["read"], lines(&one.1));
    assert_eq!(second["runs"], 100 + lines(&one.1));
    assert_eq!((&second["first_seed"], &second["last_seed"]), (&151.into(), &250.into()));
    assert!(one.1.contains("# Kept for: ") && one.1.contains(" then "), "{}", one.1);
    let failures = one.0.lines().chain(one.2.lines()).filter(|line| line.contains("different"));
    assert_eq!(failures.count(), 0);
}

/// The mistake is found with a corpus, and each failing run by the command that is printed.
#[test]
fn a_mistake_behind_a_chain_of_states_is_found() {
    let folder = Folder::new();
    let corpus = folder.path().join("corpus");
    let line = format!("test {} --nodes 2 --seeds 1..120 --corpus {}", deep(), corpus.display());
    let output = run(&line);
    assert_eq!(status(&output), 1, "{}", stdout(&output));
    let text = stdout(&output);
    let commands = text.lines().filter_map(|line| line.strip_prefix("  tidemill "));
    let commands: Vec<&str> = commands.filter(|line| line.contains(" --then ")).collect();
    assert!(!commands.is_empty(), "{text}");
    for command in commands.iter().take(5) {
        let output = again(command);
        assert_eq!(status(&output), 1, "{command}");
        let err = stderr(&output);
        let violation = err.lines().find(|line| line.contains("violation(")).expect("one");
        assert!(text.contains(&format!("\n  {violation}\n")), "{violation}\n{text}");
    }
}

/// A test that ends before it has run the lines of its corpus keeps them.
#[test]
fn a_test_that_ends_early_keeps_what_it_has_not_run() {
    let folder = Folder::new();
    let lines = ["nodes 2 seed 1 loss 0.1", "nodes 2 seed 2 then 5.5 seed 3 churn 9 pause 20"];
    let corpus = folder.file("corpus", &lines.join("\n"));
    let line = format!("test {} --nodes 2 --wall 0.000000001 --corpus {corpus}", deep());
    let output = run(&line);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).starts_with("summary: 0 runs, 0 failed; 0 repeated"), "{output:?}");
    let text = fs::read_to_string(&corpus).expect("the file");
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(kept, lines);
}

#[test]
fn a_corpus_that_is_wrong_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    let text = "# mine\nnodes 2 seed 1 churn 5\nnodes 2 seed x\nnodes 9 seed 1\n";
    let corpus = folder.file("corpus", text);
    let line = format!("test {} --nodes 2 --seeds 1..3 --faults loss", deep());
    let output = run(&format!("{line} --corpus {corpus}"));
    assert_eq!(status(&output), 1);
    let err = stderr(&output);
    for part in [
        "corpus:2:16: error[corpus-unfit]: the fault churn is not among those of this test",
        "corpus:3:14: error[corpus-syntax]: `x` is no seed",
        "corpus:4:1: error[corpus-unfit]: 9 nodes, but runs have 2 to 2",
        "help",
    ] {
        assert!(err.contains(part), "{part}\n{err}");
    }
    assert_eq!(fs::read_to_string(&corpus).expect("the file"), text);
    let output = run(&format!("{line} --corpus {}/no/corpus", folder.path().display()));
    assert!(status(&output) == 1 && stderr(&output).contains("cannot write"), "{output:?}");
    let component = root().join("tests/faults/kill.com").display().to_string();
    let output = run(&format!("test {component} --seeds 1..3 --corpus {corpus}"));
    assert!(stderr(&output).contains("--corpus has no effect here: it concerns"), "{output:?}");
    assert_eq!(status(&output), 2);
}
