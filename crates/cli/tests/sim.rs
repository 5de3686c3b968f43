//! Simulations through the command.

use std::io::Write;
use std::process::Stdio;

use crate::common::{Folder, PING, run, status, stderr, stdout, tidemill};

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let faults = "--loss 0.2 --duplicate 0.1 --reorder 0.2 --churn 20";
    let with =
        |seed| run(&format!("sim {file} --nodes 5 --for 60 --seed {seed} --json {faults}")).stdout;
    let first = with(7);
    assert!(first.len() > 10_000);
    assert_eq!(first, with(7));
    assert_ne!(first, with(8));
}

/// A script may come from a pipe, which can be read once only.
#[test]
fn a_script_comes_from_a_pipe() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    for (verb, options) in [("sim", ""), ("test", "--seeds 1..1"), ("explore", "--depth 1")] {
        let words = format!("{verb} {file} {options} --script /dev/stdin");
        let mut command = tidemill();
        command.args(words.split_whitespace()).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(b"garbage\n").expect("written");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(status(&output), 1, "{verb}");
        assert!(stderr(&output).contains("error[script-syntax]"), "{verb}: {}", stderr(&output));
    }
}

#[test]
fn watch_lines_have_their_form() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let text = stdout(&run(&format!("sim {file} --nodes 2 --for 1.5 --latency 10..10")));
    let lines: Vec<&str> = text.lines().collect();
    let first = lines[0];
    assert!(first.starts_with("0.000000 n0:1 i - pongs(\"n0:1\", 0)"), "{first}");
    assert!(lines.contains(&"1.020000 n1:1 i - pongs(\"n1:1\", 1)"), "{text}");
    let sent = lines.iter().find(|line| line.starts_with("1.000000 n1:1 s p1 ping(\"n0:1\", "));
    assert!(sent.is_some(), "{text}");
    assert!(lines.last().is_some_and(|line| line.starts_with("summary: 2 nodes")), "{text}");
}

#[test]
fn json_lines_are_objects_and_the_last_is_the_summary() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let text = stdout(&run(&format!("sim {file} --nodes 2 --for 3 --json --trace")));
    let objects: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let (summary, lines) = objects.split_last().expect("lines");
    for line in lines {
        let keys: Vec<&String> = line.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["event", "node", "rule", "t", "tuple"]);
        assert!(line["t"].is_f64() && line["tuple"][0].is_string());
    }
    assert_eq!(summary["summary"]["nodes"], 2);
    assert_eq!(summary["summary"]["tables"]["pongs"], 2);
    assert_eq!(summary["summary"]["seconds"], 3.0);
}

#[test]
fn a_run_ends_when_nothing_is_left_to_do() {
    let folder = Folder::new();
    let file = folder.file("once.olg", "r1 b(@Y, X) :- a(@X, Y).\nwatchmod(b, \"c\").\n");
    let output = tidemill()
        .args(["sim", &file, "--nodes", "2", "--latency", "5..5"])
        .args(["--inject", "a(NODE, \"n1:1\")", "--fact", "a(\"n1:1\", LANDMARK)"])
        .output()
        .expect("starts");
    assert_eq!(status(&output), 0);
    let text = stdout(&output);
    assert!(text.contains("0.005000 n1:1 c - b(\"n1:1\", \"n0:1\")"), "{text}");
    assert!(text.contains("0.005000 n0:1 c - b(\"n0:1\", \"n1:1\")"), "{text}");
    assert!(text.contains(" c r1 b(\"n1:1\", \"n1:1\")"), "{text}");
}

#[test]
fn a_violation_ends_the_run_and_shows_the_seed() {
    let folder = Folder::new();
    let rule = "v1 violation(@N, C) :- pong(@N, _), pongs(@N, C), C > 2.\n";
    let file = folder.file("ping.olg", &format!("{PING}{rule}"));
    let output = run(&format!("sim {file} --nodes 2 --for 100 --seed 9"));
    assert_eq!(status(&output), 1);
    let errors = stderr(&output);
    assert!(errors.contains(": violation(\"n0:1\", 3) (rule v1)"), "{errors}");
    assert!(errors.contains("--seed 9"), "{errors}");
    let last = stdout(&output).lines().last().expect("a summary").to_owned();
    assert!(last.contains("violations: 1") && last.contains(" 4.0"), "{last}");
}

const FAULTS: &str = "\
at 1.5 expect 1 pongs(NODE, 1)
at 2 crash 1
at 2 expect * pongs(NODE, _) count 1
at 3.5 restart 1
at 3.9 expect i in 1..2 pongs(\"n$i:1\", _) count 1
at 4 partition 0,1 | 2
at 5.9 expect 2 pongs(NODE, 3) count 1
at 6 heal
at 6 latency 1..1
at 7.5 loss 1
at 8 inject 0 pong(NODE, 0)
at 8 fact 2 pongs(NODE, 100)
at 8.1 expect 2 pongs(NODE, 100)
every 8.2..8.4 step 0.1 inject i in 1..2 pong(\"n$i:1\", $i)
at 8.9 expect 2 pongs(NODE, 103)
at 9.5 end
";

#[test]
fn scripts_drive_a_simulation() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let script = folder.file("faults.sim", FAULTS);
    let output = run(&format!("sim {file} --nodes 3 --latency 10..10 --script {script}"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let last = stdout(&output).lines().last().expect("a summary").to_owned();
    assert!(
        last.contains("9.500000 s") && last.contains("expectations: 8 met, 0 failed"),
        "{last}"
    );
}

#[test]
fn an_expectation_that_fails_ends_the_run_with_its_place() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let script = folder.file("t.sim", "# what will not be\n  at 2.5 expect 1 pongs(NODE, 7)\n");
    let output = run(&format!("sim {file} --nodes 2 --for 100 --script {script}"));
    assert_eq!(status(&output), 1);
    let errors = stderr(&output);
    let expected = format!("{script}:2:3: error[expect]: 0 rows of n1:1 fit pongs(NODE, 7)");
    assert!(errors.contains(&expected), "{errors}");
    assert!(errors.contains("\n  pongs(\"n1:1\", 2)\n"), "{errors}");
    assert!(stdout(&output).contains("2.500000 s"));
}

#[test]
fn mistakes_in_scripts_have_their_place() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let script = folder.file("t.sim", "at 1 crash 9\nat 2 inject 0 pnog(NODE, 1)\n");
    let output = run(&format!("sim {file} --nodes 2 --script {script}"));
    assert_eq!(status(&output), 1);
    let errors = stderr(&output);
    assert!(errors.contains(&format!("{script}:1:12: error[unknown-node]")), "{errors}");
    assert!(errors.contains(&format!("{script}:2:15: error[script-tuple]")), "{errors}");
    let late = folder.file("late.sim", "at 50 heal\n");
    let output = run(&format!("sim {file} --for 1 --script {late}"));
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains(":1:1: warning[script-late]"), "{}", stderr(&output));
    let ended = folder.file("ended.sim", "at 1 end\nat 1 heal\nat 2 expect 0 pongs(NODE, 9)\n");
    let output = run(&format!("sim {file} --script {ended}"));
    assert_eq!(status(&output), 0);
    let errors = stderr(&output);
    assert!(errors.contains(":3:1: warning[script-late]"), "{errors}");
    assert!(!errors.contains(":2:1: warning"), "{errors}");
}

#[test]
fn the_roll_of_nodes_is_kept_at_every_node() {
    let folder = Folder::new();
    let program = "\
materialize(alive, infinity, 1, keys(1)).
r1 alive(@N, a_COUNT<*>) :- tick(@N), sim::node(@N, _, _, true).
r2 tick(@N) :- periodic(@N, _, 1).
";
    let file = folder.file("roll.olg", program);
    let script = folder.file(
        "roll.sim",
        "at 1.5 expect * alive(NODE, 4)\nat 2 crash 3\nat 3.5 expect * alive(NODE, 3)\n\
         at 4 restart 3\nat 5.5 expect * alive(NODE, 4)\nat 5.5 expect 3 sim::node(NODE, _, _, _) \
         count 4\nat 6 end\n",
    );
    let output = run(&format!("sim {file} --nodes 4 --script {script}"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
}

#[test]
fn churn_spares_the_first_node() {
    let folder = Folder::new();
    let program = "\
materialize(born, infinity, infinity, keys(2)).
b1 birth(@Home, Node, T) :- periodic(@Node, _, 0, 1), Home := LANDMARK, T := f_now().
b2 born(@Home, Node, T) :- birth(@Home, Node, T).
watchmod(birth, \"c\").
";
    let file = folder.file("births.olg", program);
    let output = run(&format!("sim {file} --nodes 4 --churn 10 --for 100"));
    let text = stdout(&output);
    let births = |node: &str| {
        let end = format!("birth(\"n0:1\", \"{node}\", ");
        text.lines().filter(|line| line.contains(&end)).count()
    };
    assert_eq!(births("n0:1"), 1, "{text}");
    assert!((1..4).all(|node| births(&format!("n{node}:1")) > 3), "{text}");
}

#[test]
fn statistics_go_to_standard_error() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let output = run(&format!("sim {file} --nodes 3 --for 2 --stats"));
    let errors = stderr(&output);
    assert!(errors.contains("nodes: 3 created, 3 alive\n"), "{errors}");
    assert!(errors.contains("rules: 3, "), "{errors}");
    assert!(errors.contains("pongs: ") && !errors.contains("processes"), "{errors}");
    let peak = errors.lines().find_map(|line| line.strip_prefix("peak memory: "));
    let bytes = peak.and_then(|peak| peak.strip_suffix(" bytes")).map(str::parse::<u64>);
    assert!(matches!(bytes, Some(Ok(1_000_000..))), "{errors}");
}

/// A view on another node, which a lease keeps alive.
const SHIPPED: &str = "\
materialize(a, infinity, infinity, keys(1, 2)).
materialize(b, infinity, infinity, keys(1, 2)).
r1 b(@M, X) :- a(@N, M, X).
a(\"n1:1\", \"n0:1\", 7).
watchmod(b, \"id\").
";

#[test]
fn leases_alone_keep_no_run_alive() {
    let folder = Folder::new();
    let file = folder.file("shipped.olg", SHIPPED);
    let text = stdout(&run(&format!("sim {file} --nodes 3 --latency 5..5")));
    let expected = "0.005000 n0:1 i - b(\"n0:1\", 7)\nsummary: 3 nodes (3 alive), 40.005000 s";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn what_a_lost_node_supported_goes_before_the_run_ends() {
    let folder = Folder::new();
    let file = folder.file("shipped.olg", SHIPPED);
    let script = folder.file("crash.sim", "at 100 crash 1\n");
    let text = stdout(&run(&format!("sim {file} --nodes 3 --latency 5..5 --script {script}")));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    let deleted = lines[1].strip_suffix(" n0:1 d - b(\"n0:1\", 7)").expect(&text);
    let at: f64 = deleted.parse().expect("a time");
    assert!((100.0..131.0).contains(&at), "{text}");
}

#[test]
fn the_roll_of_nodes_is_complete_before_anything_happens() {
    let folder = Folder::new();
    let program = "\
materialize(seen, infinity, infinity, keys(1, 2, 3)).
first(NODE, 0).
r1 seen(@N, T, a_COUNT<*>) :- first(@N, T), sim::node(@N, A, I, Alive), Alive.
r2 seen(@N, 1, a_COUNT<*>) :- periodic(@N, E, 0, 1), sim::node(@N, A, I, Alive), Alive.
watchmod(seen, \"i\").
";
    let file = folder.file("roll.olg", program);
    let script = folder.file("roll.sim", "at 5 crash 2\nat 6 crash 1\nat 7 restart 1\n");
    let output = run(&format!("sim {file} --nodes 4 --script {script}"));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" i ")).collect();
    let whole = lines.iter().filter(|line| line.starts_with("0.0") && line.ends_with(", 4)"));
    assert_eq!(whole.count(), 8, "{text}");
    // Node 2 is down when node 1 restarts.
    let later: Vec<&&str> = lines.iter().filter(|line| line.starts_with("7.0")).collect();
    assert_eq!(later.len(), 2, "{text}");
    assert!(later.iter().all(|line| line.ends_with(", 3)")), "{text}");
}

/// The tree leads back to external input, on the other node too.
#[test]
fn a_violation_is_explained() {
    let folder = Folder::new();
    let rules = "\
        p1 ping(@L, N) :- periodic(@N, _, 1, 1), NODE_INDEX == 1, L := LANDMARK.\n\
        p2 pong(@N, L) :- ping(@L, N).\n\
        p3 violation(@N, L) :- pong(@N, L).\n";
    let file = folder.file("pong.olg", rules);
    for workers in [1, 2] {
        let output =
            run(&format!("sim {file} --nodes 2 --for 5 --latency 10..10 --workers {workers}"));
        assert_eq!(status(&output), 1);
        let notes = stderr(&output);
        let tree = notes.lines().skip_while(|line| !line.starts_with("violation("));
        let tree: Vec<&str> = tree.take(4).collect();
        let wanted = [
            ("violation(\"n1:1\", \"n0:1\")  by p3 (", ") at 1.020000"),
            ("└─ pong(\"n1:1\", \"n0:1\")  from n0:1 at 1.020000, by p2 (", ") at 1.010000"),
            ("   └─ ping(\"n0:1\", \"n1:1\")  from n1:1 at 1.010000, by p1 (", ") at 1.000000"),
            ("      └─ periodic(\"n1:1\", ", "  timer"),
        ];
        assert_eq!(tree.len(), 4, "{notes}");
        for (line, (begin, end)) in tree.iter().zip(wanted) {
            assert!(line.starts_with(begin) && line.ends_with(end), "{line}");
        }
    }
    let picture = folder.path().join("pong.svg");
    let svg = picture.display();
    assert_eq!(status(&run(&format!("sim {file} --nodes 2 --for 5 --svg {svg}"))), 1);
    let picture = std::fs::read_to_string(picture).expect("a picture");
    assert!(picture.starts_with("<svg ") && picture.contains(" by p3 ("), "{picture}");
    let quiet = stderr(&run(&format!("sim {file} --nodes 2 --for 5 -q")));
    assert!(!quiet.contains("by p3"), "{quiet}");
}
