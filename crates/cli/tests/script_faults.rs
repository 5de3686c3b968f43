//! Faults of scripts: clocks, pauses, slow nodes, single messages, and rows that must be gone after
//! all of them.

use crate::common::{Folder, run, status, stderr, stdout};

/// The data lines, the status and the notes of a simulation of these rules under this script.
fn simulated(rules: &str, script: &str, options: &str) -> (Vec<String>, i32, String) {
    let folder = Folder::new();
    let (file, script) = (folder.file("a.olg", rules), folder.file("a.sim", script));
    let output = run(&format!("sim {file} --script {script} {options}"));
    let text = stdout(&output);
    let lines = text.lines().filter(|line| !line.starts_with("summary"));
    (lines.map(str::to_owned).collect(), status(&output), stderr(&output))
}

const PING: &str = "\
p1 ping(@L, N, K) :- go(@N, K), L := LANDMARK.
p2 pong(@N, K) :- ping(@L, N, K).
export(go).
watchmod(ping, \"c\"). watchmod(pong, \"c\").
";

#[test]
fn single_messages_are_dropped_doubled_and_delayed() {
    let script = "nodes 2\nat 0 latency 10..10\n\
                  at 1 inject 1 go(NODE, 1)\nat 1 drop 1 0 'ping(_, _, 2)'\n\
                  at 2 inject 1 go(NODE, 2)\nat 3 inject 1 go(NODE, 2)\n\
                  at 4 duplicate 0 1\nat 4 inject 1 go(NODE, 4)\n\
                  at 5 delay 1 0 500 'ping(NODE, \"n1:1\", 5)'\nat 5 inject 1 go(NODE, 5)\n\
                  at 5.1 inject 1 go(NODE, 6)\n";
    let (lines, code, err) = simulated(PING, script, "");
    assert_eq!(code, 0, "{err}");
    let received: Vec<String> = lines
        .iter()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let last = words.last().expect("words").trim_end_matches(')');
            format!("{} {} {last}", words[0], &words[4][..4])
        })
        .collect();
    let expected = [
        "1.010000 ping 1",
        "1.020000 pong 1",
        "3.010000 ping 2",
        "3.020000 pong 2",
        "4.010000 ping 4",
        "4.020000 pong 4",
        "4.020000 pong 4",
        "5.110000 ping 6",
        "5.120000 pong 6",
        "5.500000 ping 5",
        "5.510000 pong 5",
    ];
    assert_eq!(received, expected);
}

#[test]
fn by_hand_messages_and_timers_wait_for_the_script() {
    let rules = format!("{PING}t1 go(@N, K) :- periodic(@N, _, 1), K := NODE_INDEX.\n");
    let script = "nodes 3\nat 0 manual\nat 3 timer 2 t1\nat 4 timer 1 t1\n\
                  at 5 deliver 1 0\nat 6 deliver 2 0 'ping(_, _, 2)'\nat 7 deliver 2 0\n\
                  at 8 drop 0 1\nat 9 deliver 0 2 'pong(_, _)'\nat 10 end\n";
    let (lines, code, err) = simulated(&rules, script, "");
    assert_eq!(code, 0, "{err}");
    let expected = [
        "5.000000 n0:1 c - ping(\"n0:1\", \"n1:1\", 1)",
        "6.000000 n0:1 c - ping(\"n0:1\", \"n2:1\", 2)",
        "9.000000 n2:1 c - pong(\"n2:1\", 2)",
    ];
    assert_eq!(lines, expected);
    assert!(err.contains("a.sim:7:1: no such message waits"), "{err}");
}

#[test]
fn a_script_pauses_nodes_slows_them_and_sets_their_clocks() {
    let rules = "\
        materialize(p, infinity, infinity, keys(1, 2)).
        r1 p(@N, K) :- go(@N, K).
        r2 q(@N, K, T) :- p(@N, K), T := f_now().
        export(go). watchmod(q, \"h\").";
    let script = "at 0 clock 0 -1.5 1000\nat 10 inject 0 go(NODE, 1)\n\
                  at 10 pause 0 2\nat 20 slow 0 100\nat 20 inject 0 go(NODE, 2)\nat 21 end\n";
    let (lines, code, err) = simulated(rules, script, "");
    assert_eq!(code, 0, "{err}");
    let expected = [
        "12.000000 n0:1 h r2 q(\"n0:1\", 1, 10.512000000t)",
        "20.100000 n0:1 h r2 q(\"n0:1\", 2, 18.620100000t)",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_partition_may_be_of_one_way() {
    let script = "nodes 2\nat 0 partition 0 > 1\nat 1 inject 1 go(NODE, 1)\n\
                  at 2 partition 1 > 0\nat 3 inject 1 go(NODE, 3)\nat 4 heal\nat 5 end\n";
    let (lines, _, err) = simulated(PING, script, "");
    assert_eq!(lines.len(), 1, "{err}");
    assert!(lines[0].ends_with(", 1)") && lines[0].contains(" c - ping("), "{lines:?}");
}

/// A node is unsettled until it gets a message that clears that.
const UNSETTLED: &str = "\
materialize(unsettled, infinity, infinity, keys(1, 2)).
u1 unsettled(@N, K) :- begin(@N, K).
u2 delete unsettled(@N, K) :- done(@N, K), unsettled(@N, K).
export(begin). export(done).
";

#[test]
fn what_is_unsettled_must_be_gone_when_faults_are_over() {
    let before = "at 1 inject 0 begin(NODE, 7)\n";
    let cases = [
        // Faults end at 7, all rows must be gone from 9 to 10.
        ("--settle 2", "", Some("9.000000 n0:1: unsettled(\"n0:1\", 7) since 1.000000")),
        ("--settle 2", "at 8.9 inject 0 done(NODE, 7)\n", None),
        ("", "", None),
        // A later fault postpones it.
        ("--settle 2", "at 8 loss 0\n", Some("10.000000 n0:1: unsettled")),
        ("--settle 2", "at 8 crash 0\n", None),
        ("--settle 2", "at 9.1 pause 0 0.1\nat 9.3 inject 0 done(NODE, 7)\n", Some("9.000000 ")),
        ("--settle 2 --tolerate 9", "", Some("10.000000 n0:1: unsettled")),
        ("--settle 2 --tolerate 9.1", "", None),
        (
            "--settle 2",
            "at 2 inject 0 done(NODE, 7)\nat 9.5 inject 0 begin(NODE, 8)\n",
            Some("9.500000 n0:1: unsettled(\"n0:1\", 8) since 9.500000"),
        ),
        (
            "--settle 2 --tolerate 0.25",
            "at 2 inject 0 done(NODE, 7)\nat 9.5 inject 0 begin(NODE, 8)\n\
             at 9.7 inject 0 done(NODE, 8)\n",
            None,
        ),
    ];
    for (options, rest, expected) in cases {
        let script = format!("{before}{rest}");
        let (_, code, err) = simulated(UNSETTLED, &script, &format!("--for 10 {options}"));
        assert_eq!(code, i32::from(expected.is_some()), "{options} {rest}: {err}");
        let failure = expected.unwrap_or("simulated in");
        assert!(err.contains(failure), "{options} {rest}: {err}");
    }
    let global = "materialize(p, infinity, infinity, keys(1)).
                  p1 p(@N) :- begin(@N). export(begin).
                  g1 unsettled(@SIM, a_COUNT<*>) :- p(@_).";
    let script = "nodes 2\nat 1 inject * begin(NODE)\nat 10 end\n";
    let (_, code, err) = simulated(global, script, "--settle 2");
    assert_eq!(code, 1);
    assert!(err.contains("9.000000 SIM: unsettled(\"SIM\", 2) since 1.000000"), "{err}");
}

#[test]
fn settling_needs_a_table_and_time() {
    let folder = Folder::new();
    let (file, other) = (folder.file("a.olg", UNSETTLED), folder.file("b.olg", PING));
    let cases = [
        (format!("sim {other} --for 10 --settle 1"), "has no table `unsettled`"),
        (format!("sim {file} --settle 1"), "needs an end"),
        (format!("test {file} --for 10 --settle 7"), "this run is shorter"),
    ];
    for (line, expected) in cases {
        let output = run(&line);
        assert_eq!(status(&output), 2, "{line}");
        assert!(stderr(&output).contains(expected), "{line}: {}", stderr(&output));
    }
    let output = run(&format!("test {file} --for 30 --seeds 1..3"));
    assert_eq!(status(&output), 0, "{}", stdout(&output));
    let failing = folder.file("c.olg", &format!("{UNSETTLED}unsettled(NODE, 1).\n"));
    let output = run(&format!("test {failing} --for 30 --seeds 1..3 --faults churn --no-shrink"));
    // A third of the run, 10 s, is the default; 15 s before the end crashed nodes restart.
    let text = stdout(&output);
    assert_eq!(text.matches(" 25.000000 n0:1: unsettled(").count(), 3, "{text}");
    assert_eq!(text.matches(" --settle 10").count(), 3, "{text}");
}

/// Drawn faults follow from the seed, with several workers too.
#[test]
fn workers_have_the_faults_of_one() {
    let rules = format!("{PING}t1 go(@N, K) :- periodic(@N, _, 0.3), K := f_now().\n");
    let faults = "--partition 3 --pause 4 --slow 20 --skew 2 --latency 5..400:tail --loss 0.1 \
                  --for 20 --nodes 5";
    let (one, code, _) = simulated(&rules, "at 5 crash 3\nat 9 restart 3\n", faults);
    let (three, ..) =
        simulated(&rules, "at 5 crash 3\nat 9 restart 3\n", &format!("{faults} --workers 3"));
    assert_eq!(code, 0);
    assert!(one.len() > 100 && one == three, "{} {}", one.len(), three.len());
    let (calm, ..) = simulated(&rules, "", "--for 20 --nodes 5");
    assert!(calm.len() > one.len());
}
