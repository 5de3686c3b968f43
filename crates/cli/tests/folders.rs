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
    let settings = "[sim]\nnodes = 2\nD = \"ADDED=40\"\nfor = 5\n[run]\nfor = 1\n";
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
}

/// The errors of a command about a folder with these settings, and its status.
fn errors(folder: &Folder, arguments: &[&str], settings: &str) -> (String, i32) {
    folder.file("tidemill.toml", settings);
    let path = folder.path().display().to_string();
    let output = run(&[arguments, &[&path]].concat());
    (stderr(&output).replace(&format!("{path}/"), ""), status(&output))
}

#[test]
fn wrong_keys_and_values_are_shown_at_their_places_all_at_once() {
    let folder = Folder::new();
    folder.file("a.olg", RULES);
    let settings = "[run]\nnode = 2\nloss = 0.5\njson = 3\nnodes = true\nlisten = \"nowhere\"\n\
                    engine = \"dispach\"\nworkers = [1, 2]\nhelp = true\n\
                    [sim]\narguments = [\"x\"]\nloss = 7\n";
    let expected = "tidemill.toml:2:1: error[settings]: `run` has no option `node`\n  \
                    help: is nodes meant?\n\
                    tidemill.toml:3:1: error[settings]: `run` has no option `loss`\n  \
                    help: it is an option of sim\n\
                    tidemill.toml:4:8: error[settings]: `json` is true or false\n\
                    tidemill.toml:5:9: error[settings]: `nodes` needs a value, N\n\
                    tidemill.toml:6:11: error[settings]: `listen`: `nowhere` is no address: write \
                    host:port\n\
                    tidemill.toml:7:11: error[settings]: `dispach` is no value of `engine`\n  \
                    help: is dispatch meant?\n\
                    tidemill.toml:8:11: error[settings]: `workers` has one value\n\
                    tidemill.toml:9:1: error[settings]: `run` has no option `help`\n  \
                    help: `tidemill run --help` lists the options\n\
                    tidemill.toml:11:1: error[settings]: `sim` has no option `arguments`\n  \
                    help: they are for [run]\n\
                    tidemill.toml:12:8: error[settings]: `loss`: ";
    for verb in ["run", "sim", "check", "fmt", "explain"] {
        let (errors, status) = errors(&folder, &[verb], settings);
        assert!(errors.starts_with(expected), "{verb}: {errors}");
        assert_eq!(status, 1, "{verb}");
    }
}

/// A file that is missing concerns the verb that reads it, a user the machine that has it.
#[test]
fn what_depends_on_the_machine_is_checked_by_the_verb_that_uses_it() {
    let folder = Folder::new();
    folder.file("a.olg", RULES);
    let settings =
        "[run]\nuser = \"no-such-user\"\n[sim]\nscript = \"no-such.sim\"\nD = \"ADDED=1\"\n";
    let (found, status) = errors(&folder, &["sim"], settings);
    let expected = "tidemill.toml:4:11: error[settings]: there is no file `no-such.sim`\n";
    assert!(found.starts_with(expected), "{found}");
    assert_eq!(status, 1);
    let (found, status) = errors(&folder, &["run"], settings);
    assert!(found.starts_with("tidemill.toml:2:9: error[settings]: `user`: "), "{found}");
    assert_eq!(status, 1);
    assert_eq!(errors(&folder, &["check", "-D", "ADDED=1"], settings), (String::new(), 0));
}

#[test]
fn options_that_do_not_fit_each_other_or_the_program_are_shown_at_their_keys() {
    let folder = Folder::new();
    folder.file("a.olg", "r1 b(@N) :- a(@N).\nwatch(b).\n");
    let (found, status) = errors(&folder, &["run"], "[run]\nfor = 1\naddress = \"a:1\"\n");
    assert!(found.starts_with("tidemill.toml:3:1: error[settings]: the following"), "{found}");
    assert_eq!(status, 1);
    let settings = "[run]\nlisten = \"a:1\"\nnodes = 2\n";
    let (found, status) = errors(&folder, &["run"], settings);
    assert!(found.starts_with("tidemill.toml:2:1: error[settings]: the argument"), "{found}");
    assert_eq!(status, 1);
    let (found, status) = errors(&folder, &["run"], "[run]\nstack = \"1M\"\n");
    let expected = "tidemill.toml:2:1: error[settings]: --stack has no effect here: ";
    assert!(found.starts_with(expected), "{found}");
    assert_eq!(status, 1);
    let settings = "[sim]\nfor = 1\nfact = [\"a(NODE)\", \"a(NODE, _)\"]\ninject = \"a(NODE\"\n";
    let (found, status) = errors(&folder, &["sim"], settings);
    let expected = "tidemill.toml:3:21: error[tuple]: `a` has 1 columns, location included, not 2\n\
                    tidemill.toml:4:17: error[tuple]: expected `,` or `)`";
    assert!(found.starts_with(expected), "{found}");
    assert_eq!(status, 1);
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
    assert!(stderr(&output).contains("tidemill.toml:2:9: error[settings]"), "{}", stderr(&output));
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
fn fmt_and_schema_take_a_folder_with_schemas() {
    let folder = Folder::new();
    folder.file("a.olg", "a(@N,X):-b(@N,X).\n");
    folder.file("a.proto", "syntax=\"proto3\";\nmessage A{}\n");
    let descriptors = [0x0a, 0x00];
    std::fs::write(folder.path().join("b.fds"), descriptors).expect("a file");
    let path = folder.path().display().to_string();
    let checked = run(&["fmt", "--check", &path]);
    let would = ["a.olg", "a.proto"]
        .map(|file| format!("tidemill: {path}/{file} is not in the common layout\n"));
    assert_eq!((status(&checked), stderr(&checked)), (1, would.concat()));
    let output = run(&["fmt", &path]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let read = |name| std::fs::read(folder.path().join(name)).expect("a file");
    assert_eq!(read("a.olg"), b"a(@N, X) :- b(@N, X).\n");
    assert_eq!(read("a.proto"), b"syntax = \"proto3\";\nmessage A {}\n");
    assert_eq!(read("b.fds"), descriptors);
    assert_eq!(status(&run(&["fmt", "--check", &path])), 0);
    std::fs::remove_file(folder.path().join("b.fds")).expect("it is there");

    let printed = run(&["schema", &path]);
    assert_eq!(status(&printed), 0, "{}", stderr(&printed));
    assert!(stdout(&printed).contains("message a {"), "{}", stdout(&printed));
    let schema = run(&["schema", &format!("{path}/a.proto")]);
    assert_eq!((status(&schema), stdout(&schema)), (0, String::new()));
    assert!(stderr(&schema).contains("has no rules"), "{}", stderr(&schema));
    folder.file("a.proto", "syntax = \"proto3\";\nmessage A { Missing m = 1; }\n");
    let wrong = run(&["schema", &path]);
    assert_eq!((status(&wrong), stdout(&wrong)), (1, String::new()), "{}", stderr(&wrong));
    folder.file("a.proto", "syntax = \"proto3\";\nmessage A { int32 m = ; }\n");
    let wrong = run(&["fmt", &path]);
    assert_eq!(status(&wrong), 1);
    assert!(stderr(&wrong).contains("a.proto:2:23: error"), "{}", stderr(&wrong));
}
