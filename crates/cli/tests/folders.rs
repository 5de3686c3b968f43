//! A folder in place of files is a program, with the options of its `tidemill.toml`.

use crate::common::{Folder, status, stderr, stdout, tidemill};

const RULES: &str = "r1 count(@N, C) :- periodic(@N, E, 1, 1), C := NODE_COUNT + ADDED.\n\
    watchmod(count, \"c\").\n";

fn run(arguments: &[&str]) -> std::process::Output {
    tidemill().args(arguments).output().expect("the command starts")
}

#[test]
fn a_folder_runs_with_its_options_and_the_command_line_wins() {
    let folder = Folder::new();
    folder.file("a.olg", RULES);
    let settings = "[sim]\nnodes = 2\nD = \"ADDED=40\"\nfor = 5\n[run]\nloss = 1\n";
    folder.file("tidemill.toml", settings);
    let path = folder.path().display().to_string();
    let counts = |output: &std::process::Output| {
        let text = stdout(output);
        let lines = text.lines().filter_map(|line| Some(line.rsplit_once(", ")?.1.to_owned()));
        lines.filter(|end| end.ends_with(')')).collect::<Vec<_>>()
    };
    let output = run(&["sim", &path]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(counts(&output), ["42)", "42)"]);
    let output = run(&["sim", "--nodes", "3", &path, "-D", "ADDED=0"]);
    assert_eq!(counts(&output), ["3)", "3)", "3)"], "{}", stderr(&output));
    assert_eq!(status(&run(&["check", &path, "-D", "ADDED=1"])), 0);
    // An option that the verb lacks is a usage error.
    let output = run(&["run", &path]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("'--loss'"), "{}", stderr(&output));
}

#[test]
fn options_of_the_settings_give_way_to_what_they_cannot_stand_beside() {
    let folder = Folder::new();
    folder.file(
        "a.olg",
        "r1 count(@N, NODE_COUNT) :- periodic(@N, E, 0, 1).\nwatchmod(count, \"c\").\n",
    );
    let settings = "[run]\nlisten = \"localhost:0\"\naddress = \"localhost:9\"\nfor = 0.2\n";
    folder.file("tidemill.toml", settings);
    let path = folder.path().display().to_string();
    let output = run(&["run", &path, "--nodes", "2"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output).matches(", 2)").count(), 2, "{}", stdout(&output));
    let output = run(&["run", &path]);
    assert!(stdout(&output).contains("count(\"localhost:9\", 1)"), "{}", stdout(&output));
}

#[test]
fn errors_of_a_folder_have_places() {
    let folder = Folder::new();
    let path = folder.path().display().to_string();
    let output = run(&["check", &path]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("has no sources"), "{}", stderr(&output));
    folder.file("tidemill.toml", "[program]\nfiles = 7\n");
    let output = run(&["check", &path]);
    assert!(stderr(&output).contains("tidemill.toml:2:1: error[settings]"), "{}", stderr(&output));
}

#[test]
fn arguments_of_the_settings_reach_components() {
    let folder = Folder::new();
    let text = "COMPONENT Main REQUIRES Arguments; VARIABLE t: TEXT;
        BEGIN Arguments!Get(1); Arguments?Argument(t); WRITE(t); WRITELINE END Main;";
    folder.file("a.com", text);
    folder.file("tidemill.toml", "[run]\narguments = [\"settings\"]\n");
    let path = folder.path().display().to_string();
    let output = run(&["run", &path]);
    assert_eq!(
        (stdout(&output).as_str(), status(&output)),
        ("settings\n", 0),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&run(&["run", &path, "--", "words"])), "words\n");
}

#[test]
fn the_common_layout_of_a_folder_leaves_schemas_as_they_are() {
    let folder = Folder::new();
    folder.file("a.olg", "a(@N,X):-b(@N,X).\n");
    let schema = "syntax=\"proto3\";\nmessage A{}\n";
    folder.file("a.proto", schema);
    let path = folder.path().display().to_string();
    let output = run(&["fmt", &path]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    assert_eq!((read("a.olg").as_str(), &*read("a.proto")), ("a(@N, X) :- b(@N, X).\n", schema));
    // A single file needs a formatter for its kind.
    assert_eq!(status(&run(&["fmt", &format!("{path}/a.proto")])), 1);
}
