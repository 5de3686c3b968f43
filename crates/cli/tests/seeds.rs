//! Many simulations through the command: `test`.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Folder, run, status, stderr, stdout, tidemill};

/// Pings the landmark, where a duplicated ping is a violation.
const TWICE: &str = "\
materialize(seen, infinity, infinity, keys(2, 3)).
p1 ping(@Peer, Node, E) :- periodic(@Node, E, 1), Peer := LANDMARK.
p2 violation(@N, From, E) :- ping(@N, From, E), seen(@N, From, E).
p3 seen(@N, From, E) :- ping(@N, From, E).
";

/// The commands printed by a test.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("  tidemill "));
    lines.filter(|line| line.contains(" --seed ")).collect()
}

/// Runs a printed command line whose words have no blanks.
fn again(command: &str) -> Output {
    let words = command.split(' ').map(|word| word.trim_matches('\''));
    tidemill().args(words).output().expect("the command starts")
}

#[test]
fn each_failure_has_the_command_that_repeats_it() {
    let folder = Folder::new();
    let file = folder.file("twice.olg", TWICE);
    let output = run(&format!("test {file} --nodes 2..4 --for 20 --seeds 1..60 --workers 2"));
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    let text = stdout(&output);
    let commands = commands(&text);
    assert!(commands.len() > 10, "{text}");
    let summary = format!("summary: 60 runs, {} failed; 1 repeated; seeds 1..60", commands.len());
    assert_eq!(text.lines().last(), Some(&*summary));
    for command in &commands {
        assert!(command.contains("--duplicate 0."), "{command}");
        let output = again(command);
        assert_eq!(status(&output), 1, "{command}");
        // The notes of the run precede the command.
        let err = stderr(&output);
        let violation = err.lines().find(|line| line.contains("violation(")).expect("one");
        assert!(text.contains(&format!("\n  {violation}\n")), "{violation}\n{text}");
    }
    let numbers = |option: &str| {
        let after = |command: &&str| {
            let mut words = command.split(' ').skip_while(|word| *word != option);
            words.nth(1).and_then(|word| word.parse::<u64>().ok()).expect("a number")
        };
        commands.iter().map(after).collect::<Vec<_>>()
    };
    let seeds = numbers("--seed");
    assert!(seeds.is_sorted() && seeds.iter().all(|seed| (1..=60).contains(seed)), "{seeds:?}");
    let nodes = numbers("--nodes");
    assert!((2..=4).all(|count| nodes.contains(&count)), "{nodes:?}");
}

/// The output follows from the seeds, independent of workers and their order.
#[test]
fn workers_change_nothing() {
    let folder = Folder::new();
    let file = folder.file("twice.olg", TWICE);
    let of = |seeds: &str, workers: u32| {
        let line = format!("test {file} --nodes 3 --for 20 --seeds {seeds} --workers {workers}");
        stdout(&run(&format!("{line} --json")))
    };
    let (one, three) = (of("1..40", 1), of("1..40", 3));
    assert_eq!(one, three);
    let objects: Vec<serde_json::Value> =
        one.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let (summary, objects) = objects.split_last().expect("lines");
    let (failures, groups): (Vec<_>, Vec<_>) =
        objects.iter().partition(|object| object["failure"].is_object());
    let group = &groups[0]["group"];
    assert_eq!(group["shape"], "violation(A, B, _) (rule p2)");
    assert_eq!(group["seeds"], failures.len());
    assert_eq!((&group["nodes"], &group["faults"]), (&2.into(), &1.into()));
    assert_eq!(summary["summary"]["runs"], 40);
    assert_eq!(summary["summary"]["failures"], failures.len());
    assert_eq!(summary["summary"]["repeated"], 1);
    for failure in &failures {
        let failure = &failure["failure"];
        assert_eq!(failure["kind"], "failed");
        let note = failure["notes"][0].as_str().expect("a note");
        assert!(note.contains(": violation("), "{note}");
        assert!(failure["command"].as_str().is_some_and(|it| it.starts_with("tidemill sim ")));
    }
    // A seed gives the same alone and among others.
    let seed = failures[0]["failure"]["seed"].to_string();
    assert!(of(&seed, 1).starts_with(one.lines().next().expect("a line")));
}

#[test]
fn without_its_fault_nothing_fails() {
    let folder = Folder::new();
    let file = folder.file("twice.olg", TWICE);
    for (faults, expected) in [("none", 0), ("latency,loss,reorder,churn", 0), ("duplicate", 1)] {
        let line = format!("test {file} --nodes 3 --for 10 --seeds 5..30 --faults {faults}");
        assert_eq!(status(&run(&line)), expected, "{faults}");
    }
}

const END: &str = "at 3 inject 1 go(NODE)\nat 5 expect 1 gone(NODE)\nat 5 end\n";

#[test]
fn a_script_is_part_of_each_run() {
    let folder = Folder::new();
    let rules = "materialize(gone, infinity, 1, keys(1)).\nr1 gone(@N) :- go(@N).\n";
    let file = folder.file("go.olg", rules);
    let script = folder.file("go.sim", END);
    let output = run(&format!("test {file} --nodes 2..3 --script {script} --seeds 1..20"));
    // A node that is down then has not disappeared.
    let text = stdout(&output);
    assert_eq!(status(&output), 1, "{text}");
    for command in commands(&text) {
        assert!(command.contains("--churn") && !command.contains("--for"), "{command}");
        assert_eq!(status(&again(command)), 1);
    }
    let calm = format!("test {file} --nodes 2 --script {script} --seeds 1..20 --faults loss");
    assert_eq!(status(&run(&calm)), 0);
    // The script must fit all runs.
    let output = run(&format!("test {file} --nodes 1..3 --script {script}"));
    assert_eq!(status(&output), 1);
    let unknown = format!("{script}:1:13: error[unknown-node]");
    assert!(stderr(&output).contains(&unknown), "{}", stderr(&output));
}

#[test]
fn programs_of_all_kinds_are_tested() {
    let folder = Folder::new();
    let sum =
        "COMPONENT Main; VARIABLE i: INTEGER; BEGIN FOR i := 1 TO 3 DO WRITE(i) END END Main;";
    let components = folder.file("main.com", sum);
    let graph = "src :: Generator { frames: [\"hex 61\"], packets: 9 }\nend :: Sink\n\
                 src -> end.input\n";
    let graph = folder.file("a.flow", graph);
    let rules = folder.file("twice.olg", TWICE);
    for files in [&components, &graph, &format!("{components} {graph} {rules}")] {
        for engine in ["", "--engine interpret"] {
            if engine.contains("interpret") && *files == graph {
                continue;
            }
            let line =
                format!("test {files} --nodes 2 --seeds 1..9 --for 5 --faults churn {engine}");
            let output = run(&line);
            assert_eq!(status(&output), 0, "{line}: {}{}", stdout(&output), stderr(&output));
            assert_eq!(stdout(&output), "summary: 9 runs, 0 failed; 1 repeated; seeds 1..9\n");
        }
    }
    let fault = "COMPONENT Main; BEGIN ASSERT(RANDOM(0, 1) = 0) END Main;";
    let faulty = folder.file("fault.com", fault);
    let output = run(&format!("test {faulty} --seeds 1..40"));
    let failed = commands(&stdout(&output)).len();
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    assert!((5..35).contains(&failed), "{}", stdout(&output));
    let command = stdout(&output);
    assert_eq!(status(&again(commands(&command)[0])), 1);
}

/// Options of a folder: those of the section `test`, and the devices of `sim`.
#[test]
fn a_folder_has_options_for_tests() {
    let folder = Folder::new();
    folder.file("twice.olg", TWICE);
    folder.file(
        "lan.flow",
        "nic :: RawSocket { interface: \"eth0\" }\nend :: Sink\nnic -> end.input\n",
    );
    let settings = "[test]\nnodes = \"2..3\"\n\
                    seeds = \"1..30\"\nfor = 5.5\nfaults = \"duplicate\"\n\
                    [sim]\nnodes = 9\nchurn = 3\n[sim.devices]\neth0 = \"link:lan\"\n";
    folder.file("tidemill.toml", settings);
    let path = folder.path().display().to_string();
    let output = run(&format!("test {path}"));
    let text = stdout(&output);
    assert_eq!(status(&output), 1, "{text}{}", stderr(&output));
    assert!(text.ends_with("; 1 repeated; seeds 1..30\n"), "{text}");
    for command in commands(&text) {
        assert!(command.contains(" --for 5.5 --device eth0=link:lan --nodes "), "{command}");
        assert!(command.contains(" --duplicate 0.") && !command.contains("churn"), "{command}");
        assert_eq!(status(&again(command)), 1);
    }
    let output = run(&format!("test {path} --seeds 1..3 --faults none"));
    assert_eq!(stdout(&output), "summary: 3 runs, 0 failed; 1 repeated; seeds 1..3\n");
}

#[test]
fn programs_that_write_files_have_one_worker() {
    let folder = Folder::new();
    let rules = folder.file(
        "write.olg",
        "sink(\"out.jsonl\", p).\nr1 p(@N, X) :- periodic(@N, _, 1, 3), X := 1.\n",
    );
    let root = folder.path().join("written");
    std::fs::create_dir_all(&root).expect("a folder");
    let root = root.display();
    let output = run(&format!("test {rules} --root {root} --seeds 1..5 --workers 4"));
    let note = "tidemill: one worker only: the program writes files";
    assert!(stderr(&output).contains(note), "{}", stderr(&output));
    assert_eq!(status(&output), 0, "{}", stdout(&output));
}

#[test]
fn a_test_takes_the_time_that_it_has() {
    let folder = Folder::new();
    let file = folder.file("twice.olg", TWICE);
    let output = run(&format!("test {file} --wall 0.5 --faults none --workers 1"));
    assert_eq!(status(&output), 0);
    let text = stdout(&output);
    let runs = text.strip_prefix("summary: ").and_then(|it| it.split(' ').next()?.parse().ok());
    let runs: u64 = runs.expect("a number");
    assert!(runs > 1 && text.ends_with(&format!("; seeds 1..{runs}\n")), "{text}");
    let err = stderr(&output);
    assert!(err.contains("tidemill: tested in ") && err.contains(" seeds a second"), "{err}");
}

#[test]
fn a_signal_ends_a_test_with_its_summary() {
    let folder = Folder::new();
    let endless = "r1 a(@N, X + 1) :- periodic(@N, E, 0, 1), X := E % 10.\n\
                   r2 a(@N, X + 1) :- a(@N, X).\n";
    let twice = folder.file("twice.olg", TWICE);
    let endless = folder.file("endless.olg", endless);
    let cases = [(twice, "--wall 1000"), (endless, "--turn-limit 1000000000000")];
    for (file, option) in cases {
        for (signal, expected) in [("-INT", 130), ("-TERM", 143)] {
            let mut command = tidemill();
            command.args(["test", &file, "--faults", "none"]).args(option.split(' '));
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().expect("starts");
            std::thread::sleep(Duration::from_millis(1000));
            let id = child.id().to_string();
            let sent = Command::new("kill").args([signal, &id]).status().expect("`kill`");
            assert!(sent.success(), "the test has ended by itself");
            let output = child.wait_with_output().expect("ends");
            let text = stdout(&output);
            assert_eq!(status(&output), expected, "{text}{}", stderr(&output));
            assert!(text.starts_with("summary: ") && text.ends_with("; interrupted\n"), "{text}");
        }
    }
}

/// Failures are grouped by their cause, and not by earlier notes.
#[test]
fn a_note_that_fails_no_run_names_no_failure() {
    let folder = Folder::new();
    let file = folder.file(
        "noted.olg",
        "materialize(t, infinity, 1, keys(1)).\nt(NODE, 0).\nexport(say).\n\
         n1 said(@N, 7 / V) :- say(@N), t(@N, V).\n\
         v1 violation(@N, 1) :- periodic(@N, _, 2, 1), f_coinFlip(0.5), N == LANDMARK.\n\
         v2 violation(@N, 2) :- periodic(@N, _, 3, 1), N == LANDMARK.\n",
    );
    let script =
        folder.file("noted.sim", "nodes 2\nat 0.5 crash 1\nat 1 inject * say(NODE)\nat 5 end\n");
    let output = run(&format!("test {file} --script {script} --seeds 1..20 --faults none"));
    let text = stdout(&output);
    assert!(text.contains("node 1 is not there to get it"), "{text}");
    assert!(text.contains("fault[rule-failed]"), "{text}");
    let groups: Vec<&str> = text.lines().filter(|line| line.contains(" fail alike")).collect();
    assert_eq!(groups.len(), 2, "{text}");
    for rule in ["(rule v1)", "(rule v2)"] {
        assert!(groups.iter().any(|line| line.contains(rule)), "{text}");
    }
}

/// A failure is shrunk to a minimal script, which needs no seed.
#[test]
fn a_failure_is_shrunk_to_what_it_takes() {
    let folder = Folder::new();
    // A folder that is not there yet.
    let found = folder.path().join("all/here").display().to_string();
    for program in crate::faults::KINDS {
        let files = crate::faults::sources(program);
        let line = format!("test {files} --nodes 4 --for 40 --seeds 2..16 --found {found} -q");
        let output = run(&format!("{line} --faults {program}"));
        let text = stdout(&output);
        assert!(text.contains(" fail alike, the first is "), "{program}: {text}");
        let script = folder.path().join("all/here/found.sim");
        let script = std::fs::read_to_string(&script).expect("a script");
        let actions: Vec<&str> = script.lines().filter(|line| line.starts_with("at ")).collect();
        assert!((2..=21).contains(&actions.len()), "{program}: {script}");
        let replay = |lines: &[&str]| {
            let script = folder.file("less.sim", &lines.join("\n"));
            status(&run(&format!("sim {files} --script {script}")))
        };
        let all: Vec<&str> = script.lines().collect();
        assert_eq!(replay(&all), 1, "{program}: {script}");
        for (number, line) in all.iter().enumerate() {
            if line.starts_with("at ") && !line.ends_with(" end") {
                let mut less = all.clone();
                less.remove(number);
                assert_eq!(replay(&less), 0, "{program} without {line}: {script}");
            }
        }
    }
}

/// A tuple of a script is moved to another node in all its columns, and a partition drops nodes
/// that do not exist.
#[test]
fn actions_of_a_script_move_to_other_nodes() {
    let folder = Folder::new();
    let rules = "materialize(heard, infinity, infinity, keys(2)).\n\
                 materialize(said, infinity, infinity, keys(2)).\n\
                 s1 say(@L, N) :- go(@N), L := LANDMARK.\n\
                 s2 heard(@N, X) :- say(@N, X).\n\
                 s3 said(@N, N) :- go(@N).\n\
                 u1 unsettled(@SIM, X) :- said(@_, X), notin heard(@_, X).\n\
                 export(go).\n";
    let file = folder.file("far.olg", rules);
    let text = "at 1 partition 0,1 | 2,3\nat 2 inject 3 go(NODE)\nat 3 heal\nat 20 end\n";
    let script = folder.file("far.sim", text);
    let line = format!("test {file} --nodes 4 --script {script} --seeds 1..1 --faults none");
    let output = run(&format!("{line} --settle 10"));
    let text = stdout(&output);
    assert!(text.contains("it takes 2 nodes, "), "{text}");
    assert!(text.contains(" inject 1 go(\"n1:1\")\n"), "{text}");
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

#[test]
fn shrinking_can_be_left_out() {
    let folder = Folder::new();
    let file = folder.file("twice.olg", TWICE);
    let output = run(&format!("test {file} --nodes 3 --for 20 --seeds 1..20 --no-shrink"));
    let text = stdout(&output);
    assert!(!text.contains("it takes") && text.contains(" failed; "), "{text}");
}

#[test]
fn coverage_lists_rules_that_no_run_has_fired() {
    let folder = Folder::new();
    let rules = format!(
        "{TWICE}n1 never(@N) :- nothing(@N). export(nothing).\n\
         n2 small(@N, E) :- ping(@N, _, E), E < 0.\n\
         materialize(view, infinity, infinity, keys(1)).\n\
         materialize(empty, infinity, infinity, keys(1)).\n\
         w1 view(@N, F) :- seen(@N, F, _).\nw2 empty(@N, F) :- seen(@N, F, E), E < 0.\n"
    );
    let file = folder.file("twice.olg", &rules);
    let line = format!("test {file} --nodes 3 --for 10 --seeds 1..5 --faults churn --coverage");
    let text = stdout(&run(&line));
    let from = text.find("rules: ").expect("a table");
    let lines: Vec<&str> = text[from..].lines().collect();
    assert_eq!(lines[0], "rules: 3 of 7 have derived something");
    let starts = ["  n1  never fired", "  w2  never fired", "  p2  fired ", "  n2  fired "];
    for (line, start) in lines[1..].iter().zip(starts) {
        assert!(line.starts_with(start), "{text}");
    }
    assert!(lines[3].contains("times, and its body never held"), "{text}");
    let objects = stdout(&run(&format!("{line} --json")));
    let rule = objects.lines().find(|line| line.contains("\"name\":\"n1\"")).expect(&objects);
    let rule: serde_json::Value = serde_json::from_str(rule).expect(rule);
    assert_eq!((&rule["rule"]["fired"], &rule["rule"]["derived"]), (&0.into(), &0.into()));
}

/// A mutant that violates a property is found, one that violates none survives.
#[test]
fn mutants_are_found_or_survive() {
    let folder = Folder::new();
    let rules = "\
        materialize(limit, infinity, infinity, keys(1)).\n\
        limit(\"n0:1\", 3).\n\
        t1 taken(@N, X) :- offer(@N, X), limit(@N, M), X < M.\n\
        v1 violation(@N, X) :- taken(@N, X), X >= 3.\n\
        o1 offer(@N, X) :- periodic(@N, _, 1, 5), X := f_rand() % 5.\n";
    let file = folder.file("limit.olg", rules);
    let mut command = tidemill();
    command.args(["test", &file, "--for", "10", "--seeds", "1..20", "--mutants"]);
    let output = command.output().expect("it starts");
    let text = stdout(&output);
    let expected = [
        format!("survived 20 runs: t1 ({file}:3:1) without the rule"),
        format!("no program: t1 ({file}:3:1) without offer(@N, X)"),
        format!("no program: t1 ({file}:3:1) without limit(@N, M)"),
        format!("found by seed 1: t1 ({file}:3:1) without X < M"),
        format!("found by seed 1: t1 ({file}:3:1) X <= M instead of X < M"),
        format!("survived 20 runs: o1 ({file}:5:1) without the rule"),
        format!("no program: o1 ({file}:5:1) without periodic(@N, _, 1, 5)"),
        format!("no program: o1 ({file}:5:1) without X := f_rand() % 5"),
        "mutants: 4, 2 found, 2 survived; 4 are no programs".to_owned(),
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{text}");
    assert_eq!(status(&output), 1);
    let why = "# The test has no property for a lost offer.\n";
    let survivors = format!("{why}t1 without the rule\no1 without the rule\n");
    let list = folder.file("equivalent.txt", &survivors);
    let judged = |list: &str| {
        let mut command = tidemill();
        command.args(["test", &file, "--for", "10", "--seeds", "1..20", "--mutants"]);
        command.args(["--equivalent", list]).output().expect("it starts")
    };
    let output = judged(&list);
    let text = stdout(&output);
    let line = format!("judged equivalent, survived 20 runs: o1 ({file}:5:1) without the rule\n");
    assert!(text.contains(&line), "{text}");
    let sum = "mutants: 4, 2 found, 0 survived, 2 judged equivalent; 4 are no programs\n";
    assert!(text.ends_with(sum), "{text}");
    assert_eq!(status(&output), 0);
    // A run refutes a judgement.
    let list = folder.file("equivalent.txt", &format!("{survivors}t1 without X < M\n"));
    let output = judged(&list);
    assert!(stdout(&output).ends_with("; 1 judged equivalent, but found\n"), "{output:?}");
    assert_eq!(status(&output), 1);
    let list = folder.file("equivalent.txt", &format!("{why}t9 without the rule\n"));
    let output = judged(&list);
    assert!(stderr(&output).contains("line 2: the program has no mutant t9 without the rule"));
    assert_eq!(status(&output), 1);
    let wrong = folder.file("wrong.olg", "v1 violation(@N) :- periodic(@N, _, 1, 1).\n");
    let mut command = tidemill();
    let output = command.args(["test", &wrong, "--for", "5", "--seeds", "1", "--mutants"]).output();
    let output = output.expect("it starts");
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("the program itself fails with seed 1"));
    let endless = folder.file("endless.olg", "e1 e(@N) :- periodic(@N, _, 0). export(e).\n");
    let mut command = tidemill();
    let output = command.args(["test", &endless, "--for", "9000", "--wall", "0.1", "--mutants"]);
    let output = output.output().expect("it starts");
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("the program itself has no run that ends in time"));
}

/// The first failure is drawn, shrunk.
#[test]
fn a_failure_is_drawn() {
    let folder = Folder::new();
    let drawn = folder.path().join("found.svg");
    let files = crate::faults::sources("duplicate");
    let line = format!("test {files} --nodes 4 --for 40 --faults duplicate --seeds 2..16 -q");
    let output = run(&format!("{line} --svg {}", drawn.display()));
    assert_eq!(status(&output), 1);
    let picture = std::fs::read_to_string(&drawn).expect("a picture");
    assert!(picture.starts_with("<svg") && picture.contains("ping"), "{picture}");
    // Shrunk, it has two of the four nodes.
    assert!(picture.contains("n1:1") && !picture.contains("n3:1"), "{picture}");
    let nowhere = folder.path().join("nowhere/found.svg");
    let output = run(&format!("{line} --svg {}", nowhere.display()));
    assert!(stderr(&output).contains("cannot write the diagram"), "{}", stderr(&output));
    let output = run(&format!("{line} --svg {} --no-shrink", drawn.display()));
    assert_eq!(status(&output), 2);
}
