//! Simulations on several workers print what one prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{Folder, PING};

const TIDEMILL: &str = env!("CARGO_BIN_EXE_tidemill");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sim(arguments: &[&str], workers: u32) -> Output {
    Command::new(TIDEMILL)
        .current_dir(root())
        .arg("sim")
        .args(arguments)
        .args(["--workers", &workers.to_string()])
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// The notes, without the duration, the memory of the process and the reason for a single worker.
fn notes(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let others = ["simulated in", "one worker only", "peak memory"];
    let of_run = |line: &&str| !others.iter().any(|other| line.contains(other));
    text.lines().filter(of_run).map(|line| format!("{line}\n")).collect()
}

/// Runs with several workers, and compares with one. Returns the output.
fn compare(arguments: &[&str]) -> String {
    let one = sim(arguments, 1);
    for workers in [2, 3] {
        let several = sim(arguments, workers);
        let what = format!("{workers} workers: {}", arguments.join(" "));
        let (data, expected) =
            [&several, &one].map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).into();
        if data != expected {
            let differ =
                data.lines().zip(expected.lines()).find(|(data, expected)| data != expected);
            panic!("{what}: {differ:?}, of {} and {} bytes", data.len(), expected.len());
        }
        assert_eq!(notes(&several), notes(&one), "{what}");
        assert_eq!(several.status.code(), one.status.code(), "{what}");
    }
    assert!(!String::from_utf8_lossy(&one.stderr).contains("worker"));
    String::from_utf8_lossy(&one.stdout).into_owned()
}

/// Whether several workers ran it.
fn is_shared(arguments: &[&str]) -> bool {
    !String::from_utf8_lossy(&sim(arguments, 2).stderr).contains("one worker only")
}

/// The arguments of a script: its first line has the command.
fn arguments_of(script: &Path) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(script).expect("a script");
    let command = text.lines().next()?.strip_prefix("# tidemill sim ")?;
    let mut arguments: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    arguments.extend(["--script".to_owned(), script.display().to_string()]);
    (!arguments.iter().any(|argument| argument == "DIR")).then_some(arguments)
}

#[test]
fn scripts_of_examples() {
    let folders = std::fs::read_dir(root().join("examples")).expect("the folder");
    let folders = folders.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).expect("an example"));
    let files = files.map(|entry| entry.expect("an entry").path());
    let mut scripts: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "sim")).collect();
    scripts.sort();
    let mut compared = 0;
    for arguments in scripts.iter().filter_map(|script| arguments_of(script)) {
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if arguments[0].starts_with("examples/chord") {
            // Long enough for all that it does.
            arguments.extend(["--for", "60"]);
        }
        compare(&arguments);
        compared += usize::from(is_shared(&arguments));
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn every_stage_of_every_tuple_under_all_faults() {
    let faults = ["--loss", "0.1", "--duplicate", "0.1", "--reorder", "0.2", "--churn", "20"];
    let programs = ["gossip/gossip.olg", "robust-ring/robust-ring.olg", "chord/chord.olg"];
    for (program, latency) in programs.into_iter().zip(["10..50", "1..1", "7..7"]) {
        let program = format!("examples/{program}");
        let mut arguments = vec![&*program, "--nodes", "9", "--for", "20", "--trace", "--json"];
        arguments.extend(["--latency", latency]);
        arguments.extend(faults);
        assert!(is_shared(&arguments), "{program}");
        assert!(compare(&arguments).len() > 100_000, "{program}");
    }
}

/// Many nodes act at the same time, and then several of them find a violation.
const TIES: &str = r#"
materialize(seen, infinity, infinity, keys(2)).
a tick(@N, I) :- periodic(@N, E, 1, 6), I := 1.
b hop(@M, N, 3) :- tick(@N, _), sim::node(@N, M, _, true).
c hop(@N, M, K - 1) :- hop(@N, M, K), K > 0.
d seen(@N, M) :- hop(@N, M, 0).
e again(@N, M) :- hop(@N, M, 0), seen(@N, M).
f violation(@N, M) :- again(@N, M), f_now() > WHEN, N != "n0:1".
g broken(@N, 1 / (K - K)) :- hop(@N, _, K), K == 2.
watch(hop). watch(seen). watch(again). watch(broken). watch(violation).
"#;

#[test]
fn a_violation_ends_all_at_one_time() {
    let folder = Folder::new();
    let text = |when: &str| TIES.replace("WHEN", when);
    for (name, when) in [("early", "2.005t"), ("late", "4.0t"), ("never", "1000.0t")] {
        let file = folder.file(&format!("{name}.olg"), &text(when));
        for latency in ["10..10", "10..50"] {
            for seed in ["1", "2"] {
                let arguments =
                    [&*file, "--nodes", "7", "--for", "8", "--latency", latency, "--seed", seed];
                let printed = compare(&arguments);
                assert_eq!(printed.contains("violations: 1"), name != "never", "{printed}");
                let json = compare(&[&arguments[..], &["--json"]].concat());
                assert!(json.contains("\"violations\":"));
            }
        }
    }
}

#[test]
fn an_expectation_that_fails_ends_all_at_one_time() {
    let folder = Folder::new();
    let file = folder.file("ties.olg", &TIES.replace("WHEN", "1000.0t"));
    let script = folder.file(
        "expect.sim",
        "at 1 crash 3\n\
         at 2 partition 0,1 | 2,4\n\
         at 2.5 latency 5..20\n\
         at 3 heal\n\
         at 3 restart 3\n\
         at 3.01 expect * seen(NODE, \"n3:1\")\n\
         at 3.01 expect 1 seen(NODE, _) count 99\n\
         at 3.01 inject * hop(NODE, NODE, 5)\n\
         every 3..4 step 0.25 inject i in 1..3 hop(NODE, \"n$i:1\", 2)\n",
    );
    let arguments =
        [&*file, "--nodes", "6", "--for", "5", "--latency", "10..10", "--script", &script];
    let printed = compare(&arguments);
    assert!(printed.contains("failed"), "{printed}");
    assert!(is_shared(&arguments));
}

#[test]
fn a_script_ends_all_at_one_time() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let script = folder.file("end.sim", "at 2 crash 1\nat 3 restart 1\nat 4 end\n");
    let printed = compare(&[&file, "--nodes", "5", "--for", "50", "--script", &script]);
    assert!(printed.contains(" 4.000000 s"), "{printed}");
}

#[test]
fn a_run_without_an_end_ends_when_nothing_is_left_to_do() {
    let folder = Folder::new();
    let file = folder.file(
        "hops.olg",
        "h1 hop(@M, K - 1) :- hop(@N, K), K > 0, M := f_strcat(\"n\", f_strcat(K % 5, \":1\")).\n\
         watch(hop).\n",
    );
    let arguments = [&*file, "--nodes", "5", "--inject", "hop(\"n1:1\", 30)"];
    let printed = compare(&arguments);
    assert!(is_shared(&arguments));
    assert!(printed.matches(" hop(").count() > 30, "{printed}");
}

/// A simulation that needs a single worker runs on one, and reports that.
#[test]
fn a_single_worker_has_a_reason() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let reason = |arguments: &[&str]| {
        let output = sim(&[&[&*file, "--nodes", "3", "--for", "2"], arguments].concat(), 4);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        let reason = text.lines().find_map(|line| line.strip_prefix("tidemill: one worker only: "));
        reason.map(str::to_owned)
    };
    assert_eq!(reason(&[]), None);
    assert_eq!(reason(&["--latency", "0..10"]).as_deref(), Some("datagrams may take no time"));
    let script = folder.file("fast.sim", "at 1 latency 0..5\n");
    assert_eq!(reason(&["--script", &script]).as_deref(), Some("datagrams may take no time"));
    let shipped = "materialize(a, infinity, infinity, keys(1, 2)).\n\
                   materialize(b, infinity, infinity, keys(1, 2)).\n\
                   a(\"n0:1\", \"n1:1\").\nr b(@M, N) :- a(@N, M).\n";
    let (shipped, end) =
        (folder.file("shipped.olg", shipped), folder.file("end.sim", "at 3 end\n"));
    assert!(is_shared(&[&shipped, "--nodes", "3", "--script", &end]));
    assert!(!is_shared(&[&shipped, "--nodes", "3"]));
    let reads =
        folder.file("reads.olg", "r p(@N, T) :- sys::turn(@N, K, M, T, S, L).\nwatch(p).\n");
    let why = reason(&[&reads]);
    assert_eq!(why.as_deref(), Some("the program reads sys::turn, which is of all nodes"));
}

/// A node that never rests advances the clock of all: then one worker runs everything.
#[test]
fn a_node_that_never_rests() {
    let folder = Folder::new();
    let file = folder.file(
        "spin.olg",
        "materialize(count, infinity, 1, keys(1)).\n\
         a count(@N, 0) :- start(@N).\n\
         b next(@N, I + 1) :- count(@N, I), I < 600000.\n\
         c count(@N, I) :- next(@N, I).\n\
         e done(@N, I, T) :- next(@N, I), I == 600000, T := f_now().\n\
         d tock(@N) :- periodic(@N, E, 0.0005, 10).\n\
         watch(done). watch(tock).\n",
    );
    let arguments = [&*file, "--nodes", "4", "--for", "1", "--inject", "start(\"n1:1\")"];
    let printed = compare(&arguments);
    assert!(printed.contains("done"), "{printed}");
    let notes = String::from_utf8_lossy(&sim(&arguments, 2).stderr).into_owned();
    assert!(notes.contains("one worker only: a node never comes to rest"), "{notes}");
}

/// Rules, components and a packet graph at each node.
const RULES_OF_MIX: &str = r#"
materialize(seen, infinity, infinity, keys(2)).
materialize(peer, infinity, infinity, keys(2)).
stage("cl:Double", ask, answer, keys(2)).
a1 ask(@N, K, 4) :- periodic(@N, E, 0.5, 20), K := 1.
a2 got(@N, K, V) :- answer(@N, K, V).
f1 broken(@N, R) :- stage::fault(@N, C, K, R).
r1 seen(@N, Bytes) :- packet(@N, Input, Bytes).
r2 send(@N, "out", Bytes) :- packet(@N, "src", Bytes).
r3 hello(@LANDMARK, N) :- periodic(@N, E, 1, 5).
r4 peer(@N, From) :- hello(@N, From).
r5 told(@M, N) :- hello(@N, _), peer(@N, M).
watch(broken). watch(got). watch(told).
"#;

const GRAPH_OF_MIX: &str = "\
src :: Generator { frames: [\"hex 01\", \"hex 02\", \"hex 03\"], rate: 2 }
rules :: Rules
out :: Sink
src -> rules
rules -> out
";

const COMPONENTS_OF_MIX: &str = "\
INTERFACE Asking;
  { IN Ask(key, value: INTEGER) { OUT Answer(key, value: INTEGER) } OUT Done }
END Asking;
COMPONENT Double OFFERS Asking;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Asking;
    VARIABLE k, v: INTEGER;
  BEGIN
    WHILE ?Ask DO
      ?Ask(k, v);
      BEGIN {EXCLUSIVE} INC(n); ASSERT(n < 4); v := v * 2 + n END;
      !Answer(k, v); !Done
    END
  END Asking;
END Double;
COMPONENT {ENTRYPOINT} Main REQUIRES SystemTime;
  VARIABLE i: INTEGER;
BEGIN
  FOR i := 1 TO 30 DO
    WRITE(\"tick \"); WRITE(i); WRITELINE;
    SystemTime!Wait(250); SystemTime?Passed
  END
END Main;
";

/// The files of that program.
fn mix(folder: &Folder) -> [String; 3] {
    [
        folder.file("mix.olg", RULES_OF_MIX),
        folder.file("mix.com", COMPONENTS_OF_MIX),
        folder.file("mix.flow", GRAPH_OF_MIX),
    ]
}

#[test]
fn mixes_print_what_one_worker_prints() {
    let folder = Folder::new();
    let files = mix(&folder);
    let script = folder.file(
        "faults.sim",
        "at 1.2 crash 1\nat 3 restart 1\nat 2.7 kill 4 component Double\n\
         at 1.3 kill * app src\nat 2 partition 0,1,2 | 3,4,5,6\nat 4 heal\n\
         at 2 kill 1 app nobody\nat 5 expect 2 seen(NODE, _) count 3\n",
    );
    let mut arguments: Vec<&str> = files.iter().map(String::as_str).collect();
    arguments.extend(["--nodes", "7", "--for", "9", "--stats", "--script", &script]);
    for more in [&[][..], &["--json", "--loss", "0.2", "--churn", "4", "--kill", "3"]] {
        let arguments = [&arguments[..], more].concat();
        let printed = compare(&arguments);
        assert!(is_shared(&arguments));
        assert!(printed.matches("tick ").count() > 7 * 20, "{printed}");
        assert!(printed.contains("broken") && printed.contains("told"), "{printed}");
    }
}

/// A violation in the middle of a window repeats the run up to its time.
#[test]
fn a_violation_ends_a_mix_at_one_time() {
    let folder = Folder::new();
    let [_, components, graph] = mix(&folder);
    let rules =
        format!("{RULES_OF_MIX}v violation(@N, V) :- got(@N, _, V), N == \"n3:1\", V > 10.\n");
    let rules = folder.file("wrong.olg", &rules);
    let arguments = [&*rules, &*components, &*graph, "--nodes", "5", "--for", "9", "--stats"];
    let printed = compare(&arguments);
    assert!(printed.contains("violations: 1"), "{printed}");
    assert!(is_shared(&arguments));
}

/// What the nodes of a mix have in common needs a single worker, which is said.
#[test]
fn a_mix_on_a_single_worker_has_a_reason() {
    let folder = Folder::new();
    let [rules, components, graph] = mix(&folder);
    let notes = |arguments: &[&str]| {
        let output = sim(&[&["--nodes", "3"], arguments].concat(), 2);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        text
    };
    let reason = |arguments: &[&str]| {
        let notes = notes(arguments);
        let reason =
            notes.lines().find_map(|line| line.strip_prefix("tidemill: one worker only: "));
        reason.map(str::to_owned)
    };
    assert_eq!(reason(&[&rules, &components, &graph, "--for", "2"]), None);
    let one = sim(&[&components, "--for", "2"], 2);
    let one = String::from_utf8_lossy(&one.stderr).into_owned();
    assert!(one.contains("tidemill: one worker only: there is one node\n"), "{one}");
    let ends = "a run without an end ends with the main parts of all nodes";
    assert_eq!(reason(&[&components]).as_deref(), Some(ends));
    assert_eq!(
        reason(&[&components, "--for", "2", "--latency", "0..5"]).as_deref(),
        Some("datagrams may take no time")
    );
    let sink =
        folder.file("sink.olg", "r p(@N, E) :- periodic(@N, E, 1, 1). sink(\"p.jsonl\", p).");
    let root = folder.path().display().to_string();
    let sent = folder.file("sent.flow", "src :: Source { packets: 3 }\nend :: Sink\nsrc -> end\n");
    assert_eq!(
        reason(&[&sink, &sent, "--for", "2", "--root", &root]).as_deref(),
        Some("the program writes files")
    );
    let sockets = folder
        .file("net.com", "COMPONENT Main REQUIRES Network; BEGIN Network!Bind(\"n0:7\") END Main;");
    assert_eq!(
        reason(&[&sockets, "--for", "2"]).as_deref(),
        Some("component Main uses Network, which is of all nodes")
    );
    let lan = root_of_example("lan");
    let output = sim(&[&lan, "--nodes", "3", "--for", "1"], 2);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("one worker only: link lan joins the devices"), "{text}");
}

fn root_of_example(name: &str) -> String {
    root().join("examples").join(name).display().to_string()
}
