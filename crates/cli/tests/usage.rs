//! The command line itself: help, versions, usage errors, and output that cannot be written.

use std::fs::File;
use std::process::Stdio;

use crate::common::{Folder, PING, run, status, stderr, stdout, tidemill};

const VERBS: [&str; 15] = [
    "run",
    "sim",
    "explore",
    "test",
    "check",
    "fmt",
    "explain",
    "schema",
    "proto",
    "proto check",
    "query",
    "why",
    "functions",
    "key",
    "completions",
];

#[test]
fn help_is_data_and_has_examples() {
    let help = run("--help");
    assert_eq!(status(&help), 0);
    assert!(stdout(&help).contains("Examples:") && stderr(&help).is_empty());
    for verb in VERBS {
        let help = run(&format!("{verb} --help"));
        assert_eq!(status(&help), 0, "{verb}");
        let text = stdout(&help);
        assert!(text.contains("Example"), "{verb}: {text}");
        for global in ["--color", "--log", "--verbose", "--quiet"] {
            assert!(text.contains(global), "{verb} {global}");
        }
    }
    assert!(stdout(&run("--version")).starts_with("tidemill "));
}

#[test]
fn mistakes_in_the_command_line_have_status_2() {
    let wrong = [
        "",
        "fly",
        "run",
        "sim x.olg --nodes 0",
        "sim x.olg --nodes many",
        "sim x.olg --latency 5..1",
        "sim x.olg --loss 1.5",
        "sim x.olg --for -1",
        "sim x.olg --for 0",
        "test",
        "test x.olg --seeds 9..3",
        "test x.olg --seeds many",
        "test x.olg --nodes 0..3",
        "test x.olg --faults gremlins",
        "test x.olg --wall 0",
        "sim x.flow --device eth0=lan",
        "run x.olg --listen nowhere",
        "run x.olg --listen a:1 --nodes 2",
        "run x.olg --fabric pigeons",
        "run x.olg --memory much",
        "run x.olg --identity node.identity",
        "run x.olg --peers peers",
        "check",
        "check x.olg -D 1=2",
        "check x.olg --log sched=loud",
        "check x.olg --color sometimes",
        "check x.olg -v -q",
        "query nowhere table",
        "query a:1 table --timeout 0",
        "completions basic",
        "install a:1",
        "install nowhere x.olg",
        "uninstall a:1 x.olg --timeout 0",
        "why a:1 x",
        "why nowhere p(1)",
    ];
    for arguments in wrong {
        let output = run(arguments);
        assert_eq!(status(&output), 2, "{arguments}: {}", stderr(&output));
        assert!(stdout(&output).is_empty() && !stderr(&output).is_empty(), "{arguments}");
    }
}

/// An option without effect on the given program is a usage error, and nothing runs.
#[test]
fn options_without_effect_are_mistakes_in_programs_of_all_kinds() {
    let folder = Folder::new();
    let rules = folder.file("ping.olg", PING);
    let components = folder.file("main.com", "COMPONENT Main; BEGIN WRITE(1) END Main;");
    let graph = "src :: Generator { frames: [\"hex 61\"] }\nend :: Sink\nsrc -> end.input\n";
    let graph = folder.file("a.flow", graph);
    let schema = folder.file("a.proto", "syntax = \"proto3\"; message M { int32 x = 1; }");
    let rules_only = ["--listen a:1", "--fact f(1)", "--inject e(1)"];
    let components_only = ["--memory 1G", "--stack 1M", "--root .", "--png a.png"];
    let mut cases = Vec::new();
    for option in rules_only.iter().chain(&["--turn-limit 9", "--fabric tcp"]) {
        cases.push(format!("run {components} {option}"));
        cases.push(format!("run {graph} {option}"));
    }
    for option in components_only.iter().chain(&["--no-checkpoints"]) {
        cases.push(format!("run {rules} {option}"));
        cases.push(format!("run {graph} {option}"));
    }
    for option in ["-D A=1", "-I .", "--busy-wait", "--engine dispatch"] {
        cases.push(format!("run {components} {option}"));
    }
    for option in ["--trace", "--fact f(1)", "-D A=1"] {
        cases.push(format!("sim {components} {option}"));
    }
    cases.push(format!("test {graph} --faults loss"));
    cases.push(format!("test {components} --inject e(1)"));
    cases.push(format!("test {rules} --device eth0=link:lan"));
    for option in ["--loss 0.1", "--duplicate 0.1", "--reorder 0.1", "--latency 1..2"] {
        cases.push(format!("sim {graph} {option}"));
    }
    cases.extend([
        format!("run {graph} --engine interpret"),
        format!("run {rules} --workers 2"),
        format!("run {rules} --busy-wait"),
        format!("explain {graph} --type M"),
        format!("explain {components} --type M"),
        format!("explain {components} -D A=1"),
        format!("explain {rules} --type M"),
        format!("explain {schema} --form dot"),
        format!("explain {schema} -D A=1"),
        format!("check {components} -D A=1"),
        format!("check {components} -I ."),
        format!("check {schema} -D A=1"),
    ]);
    for arguments in cases {
        let output = run(&arguments);
        let err = stderr(&output);
        assert_eq!(status(&output), 2, "{arguments}: {err}");
        assert!(err.contains(" has no effect here: "), "{arguments}: {err}");
        assert!(stdout(&output).is_empty(), "{arguments}");
    }
    for arguments in [
        format!("check {rules} -D A=1 -I ."),
        format!("check {graph} -D A=1 -I ."),
        format!("check {schema} -I ."),
        format!("check {components} {schema} -I ."),
        format!("explain {schema} --type M"),
        format!("run {components} --memory 1G --stack 1M --root . --workers 2"),
        format!("run {graph} --workers 2"),
        format!("sim {components} --seed 2 --for 1 --engine interpret"),
    ] {
        let output = run(&arguments);
        assert_eq!(status(&output), 0, "{arguments}: {}", stderr(&output));
    }
    for program in [&components, &graph, &rules] {
        let output = run(&format!("sim {program} --json --for 1"));
        assert_eq!(status(&output), 0, "{program}: {}", stderr(&output));
        let last = stdout(&output).lines().last().unwrap_or_default().to_owned();
        assert!(last.starts_with("{\"summary\":{\"nodes\":1,"), "{program}: {last}");
    }
}

/// Frames on a link between nodes go through the simulated network.
#[test]
fn what_the_network_does_concerns_graphs_at_links() {
    let folder = Folder::new();
    let graph = "src :: Generator { frames: [\"hex 010203040506070809101112aaaa\"], packets: 9 }
        dev :: RawSocket { interface: \"eth0\" } end :: Sink src -> dev -> end";
    let graph = folder.file("a.flow", graph);
    let options = "--nodes 2 --for 1 --loss 1 --latency 1..2 --reorder 0.1 --duplicate 0.1";
    let output = run(&format!("sim {graph} --device eth0=link:lan {options} --partition 9"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("dropped: lost 18"), "{}", stdout(&output));
}

#[test]
fn tuples_on_the_command_line_are_checked() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let cases = [
        ("--fact", "pong(NODE", "--fact:1:10: error[tuple]: expected `,` or `)`"),
        ("--fact", "pnog(NODE, 1)", "--fact:1:1: error[tuple]: the program has no relation `pnog`"),
        ("--inject", "pong(NODE)", "--inject:1:1: error[tuple]: `pong` has 2 columns"),
        ("--inject", "pong(NODE, _)", "--inject:1:1: error[tuple]: expected a value"),
    ];
    for (option, tuple, expected) in cases {
        let output = tidemill().args(["sim", &file, option, tuple]).output().expect("starts");
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
    }
}

#[test]
fn tables_of_the_system_are_not_written_from_the_command_line() {
    let folder = Folder::new();
    let source = "r seen(@N, P) :- go(@N), sys::peer(@N, P, _, _, _). watch(seen).";
    let file = folder.file("peers.olg", source);
    for option in ["--fact", "--inject"] {
        let tuple = "sys::peer(NODE, \"a:1\", \"\", null, \"open\")";
        let output = tidemill().args(["sim", &file, option, tuple]).output().expect("starts");
        assert_eq!(status(&output), 2);
        let expected = format!("{option}:1:1: error[tuple]: `sys::peer` is a table of the system");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    }
}

#[test]
fn completions_are_offered_for_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&format!("completions {shell}"));
        assert_eq!(status(&output), 0);
        assert!(stdout(&output).contains("tidemill"), "{shell}");
    }
}

#[test]
fn functions_are_listed_and_described() {
    let list = stdout(&run("functions"));
    assert!(list.lines().any(|line| line.trim_start().starts_with("f_sha1(")), "{list}");
    let one = run("functions f_append");
    assert!(stdout(&one).contains("f_append(") && stdout(&one).contains("gives"));
    let none = run("functions f_apend");
    assert_eq!(status(&none), 1);
    assert_eq!(stderr(&none), "tidemill: there is no function `f_apend`; is f_append meant?\n");
}

#[test]
fn a_full_disk_is_a_failure() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    for arguments in [
        vec!["functions"],
        vec!["--help"],
        vec!["schema", &file],
        vec!["explain", &file],
        vec!["sim", &file, "--for", "5"],
        vec!["run", &file, "--nodes", "1", "--for", "1.2"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("the device");
        let output = tidemill().args(&arguments).stdout(full).output().expect("starts");
        assert_eq!(status(&output), 1, "{arguments:?}");
        assert!(stderr(&output).contains("cannot write to standard output"), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_went_away_ends_the_command_in_silence() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    for arguments in [
        vec!["functions"],
        vec!["explain", &file, "-q"],
        // Without a reader these would run for hours.
        vec!["sim", &file, "--nodes", "3", "--for", "1000000", "-q"],
        vec!["run", &file, "-q", "--listen", "localhost:0"],
    ] {
        let mut child = tidemill()
            .args(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert_eq!(status(&output), 0, "{arguments:?}");
        assert_eq!(stderr(&output), "", "{arguments:?}");
    }
}

#[test]
fn an_interpreted_program_has_no_names_for_perf() {
    let folder = Folder::new();
    let file = folder.file("a.com", "COMPONENT Main; BEGIN WRITE(1) END Main;");
    let output = run(&format!("run {file} --perf-map --engine interpret"));
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("--perf-map has no effect here"), "{}", stderr(&output));
}
