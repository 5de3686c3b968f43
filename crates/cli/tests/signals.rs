//! Signals, and endless turns.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, run, status, stderr, stdout, tidemill};

/// Events without end.
const ENDLESS: &str = "\
r1 a(@N, X + 1) :- periodic(@N, E, 0, 1), X := E % 10.
r2 b(@N, X) :- a(@N, X).
r3 a(@N, X + 1) :- b(@N, X).
";

/// One join that takes very long and derives nothing.
const JOIN: &str = "\
materialize(t, infinity, infinity, keys(1, 2)).
r1 t(@N, X) :- number(@N, X).
r2 number(@N, X + 1) :- number(@N, X), X < 3000.
r3 odd(@N) :- go(@N), t(@N, X), t(@N, Y), t(@N, Z), X + Y + Z < 0.
r4 go(@N) :- periodic(@N, _, 0.2, 1).
";

/// A view that takes very long.
const VIEW: &str = "\
materialize(t, infinity, infinity, keys(1, 2)).
materialize(far, infinity, infinity, keys(1, 2)).
r1 number(@N, X + 1) :- number(@N, X), X < 2000.
r2 t(@N, X) :- number(@N, X).
r3 far(@N, X) :- t(@N, X), t(@N, Y), t(@N, Z), X + Y + Z < 0.
";

/// Time that passes without turns.
const IDLE: &str = "watch(nothing).\n";

/// The time limit for an end on a machine that runs other tests, too; idle, it takes some 100 ms.
const END_MAX: Duration = Duration::from_secs(10);

/// Sends a signal after a second and a half; returns the output, and the time to the end.
fn interrupt(arguments: &[&str], signal: &str) -> (Output, Duration) {
    let child = tidemill()
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    std::thread::sleep(Duration::from_millis(1500));
    let began = Instant::now();
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status().expect("`kill` is there");
    assert!(sent.success(), "the run has ended by itself");
    let output = child.wait_with_output().expect("ends");
    (output, began.elapsed())
}

#[test]
fn a_signal_ends_a_simulation_whatever_it_does() {
    let folder = Folder::new();
    let programs = [("endless", ENDLESS), ("join", JOIN), ("view", VIEW)];
    let more = ["--turn-limit", "1000000000000", "--inject", "number(NODE, 0)"];
    for (name, text) in programs {
        let file = folder.file(&format!("{name}.olg"), text);
        let mut arguments = vec!["sim", &file];
        arguments.extend(if name == "endless" { &more[..2] } else { &more[..] });
        for (signal, wanted) in [("-INT", 130), ("-TERM", 143)] {
            let (output, took) = interrupt(&arguments, signal);
            assert_eq!(status(&output), wanted, "{name}: {}", stderr(&output));
            let text = stdout(&output);
            let summary = text.lines().last().unwrap_or_default();
            assert!(summary.starts_with("summary: "), "{name}: {text}");
            assert!(summary.ends_with("; seed 1; interrupted"), "{name}: {text}");
            assert!(took < END_MAX, "{name}: {took:?}");
        }
    }
    // Each kind of program.
    let waits = "COMPONENT Main REQUIRES SystemTime; BEGIN WRITE(\"hi\"); WRITELINE;
        WHILE TRUE DO SystemTime!Wait(1); SystemTime?Passed END END Main;";
    let graph = "src :: Generator { frames: [\"hex 01\"], packets: 1000000000, rate: 1000 }
        end :: Sink
        src -> end";
    for (name, text, lines) in [("waits.com", waits, "hi\n"), ("source.flow", graph, "")] {
        let (output, _) = interrupt(&["sim", &folder.file(name, text)], "-INT");
        assert_eq!(status(&output), 130, "{name}: {}", stderr(&output));
        let text = stdout(&output);
        assert!(text.starts_with(&format!("{lines}summary: 1 nodes")), "{name}: {text}");
        assert!(text.ends_with("; seed 1; interrupted\n"), "{name}: {text}");
    }
    let file = folder.file("idle.olg", IDLE);
    let json = ["sim", &file, "--for", "4000000000", "--json"];
    let ping = "r1 ping(@N, E) :- periodic(@N, E, 0).\n";
    let file = folder.file("ping.olg", ping);
    let busy = ["sim", &file, "--for", "4000000000", "--json"];
    assert_eq!(status(&run(&json.join(" "))), 0);
    let (output, _) = interrupt(&busy, "-INT");
    assert_eq!(status(&output), 130);
    assert!(stdout(&output).contains("\"interrupted\":true"), "{}", stdout(&output));
}

#[test]
fn a_signal_ends_a_run_in_order_whatever_it_does() {
    let folder = Folder::new();
    for (name, text) in [("endless", ENDLESS), ("join", JOIN), ("view", VIEW), ("idle", IDLE)] {
        let file = folder.file(&format!("{name}.olg"), text);
        let mut arguments = vec!["run", &file, "--nodes", "1"];
        arguments.extend(["--turn-limit", "1000000000000"]);
        if text.contains("number") {
            arguments.extend(["--inject", "number(NODE, 0)"]);
        }
        let (output, took) = interrupt(&arguments, "-INT");
        assert_eq!(status(&output), 0, "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains("summary: 1 nodes"), "{name}: {}", stderr(&output));
        assert!(took < END_MAX, "{name}: {took:?}");
    }
}

#[test]
fn a_signal_ends_the_compilation_of_components() {
    let folder = Folder::new();
    let lines = "  INC(x, 3);\n".repeat(8000);
    let text =
        format!("COMPONENT Main; VARIABLE x: INTEGER;\nBEGIN\n{lines}  WRITE(x)\nEND Main;\n");
    let file = folder.file("long.com", &text);
    let (output, took) = interrupt(&["run", &file], "-INT");
    assert_eq!(status(&output), 130, "{}", stderr(&output));
    assert!(stderr(&output).contains("in the middle of compiling"), "{}", stderr(&output));
    assert!(took < END_MAX, "{took:?}");
}

#[test]
fn an_endless_turn_is_an_error_that_names_its_rules() {
    let folder = Folder::new();
    let file = folder.file("endless.olg", ENDLESS);
    for verb in ["sim", "run --nodes 1 --for 1"] {
        let output = run(&format!("{verb} {file} --turn-limit 20000"));
        assert_eq!(status(&output), 1, "{verb}: {}", stderr(&output));
        let wanted = "endless.olg:2:4: error[turn-limit]: a turn derives more than 20000 event \
                      tuples and is given up; the rules of its cycle: r2, r3 (";
        assert!(stderr(&output).contains(wanted), "{verb}: {}", stderr(&output));
    }
}

/// Each turn ends, and its change starts the next; `test` reports it as any other failure.
#[test]
fn turns_that_follow_each_other_without_end_are_an_error_that_names_their_rules() {
    let folder = Folder::new();
    let program = "\
materialize(hit, infinity, infinity, keys(2)).
materialize(count, infinity, 1, keys(1)).
hit(NODE, 1). count(NODE, 0).
r1 count(@N, C + 1) :- hit(@N, _), count(@N, C).
";
    let file = folder.file("count.olg", program);
    let wanted = "count.olg:4:4: error[turn-limit]: a turn follows 2000 others, each started by a \
                  change of the last, and is given up; the rules of its cycle: r1 (";
    for verb in ["sim", "run --nodes 1 --for 1"] {
        let output = run(&format!("{verb} {file} --turn-limit 2000"));
        assert_eq!(status(&output), 1, "{verb}: {}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{verb}: {}", stderr(&output));
    }
    let output = run(&format!("test {file} --seeds 1..3 --turn-limit 2000 --no-shrink"));
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    assert_eq!(stdout(&output).matches(wanted).count(), 3, "{}", stdout(&output));
}

#[test]
fn what_is_only_watched_needs_no_consumer() {
    let folder = Folder::new();
    folder.file("mills.csv", "# name, year\n Eling , 1785\nDownfield,1740,2\n");
    let program = "\
stage(\"CSVtuple\", load, row).
r1 load(@N, \"mills.csv\") :- periodic(@N, E, 0, 1).
watchmod(row, \"s\").
watch(other).
";
    let file = folder.file("watched.olg", program);
    let output = tidemill()
        .current_dir(folder.path())
        .args(["sim", &file, "--inject", "other(NODE, 1, \"two\")"])
        .output()
        .expect("starts");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(" n0:1 ")).map(|it| it.1).collect();
    let wanted = [
        r#"c - other("n0:1", 1, "two")"#,
        r#"s - row("n0:1", "Eling", 1785)"#,
        r#"s - row("n0:1", "Downfield", 1740, 2)"#,
    ];
    assert_eq!(lines, wanted, "{text}");
    assert!(!text.contains("arity"), "{text}");
}
