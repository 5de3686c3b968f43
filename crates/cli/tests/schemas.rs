//! Schemas: `proto check`, and `check` of files that end like schemas.

use crate::common::{Folder, PING, run, status, stderr, stdout};

const POINT: &str = "edition = \"2023\";\npackage p;\nmessage Point { int32 x = 1; }\n";

#[test]
fn a_right_schema_is_checked_in_silence() {
    let folder = Folder::new();
    let point = folder.file("point.proto", POINT);
    let import = "edition = \"2023\";\nimport \"point.proto\";\nmessage L { p.Point a = 1; }\n";
    let line = folder.file("line.PROTO", import);
    let dir = folder.path().display();
    for command in [
        format!("check {line}"),
        format!("check {line} -I {dir}"),
        format!("proto check --schema {line}"),
        format!("proto check --schema {line} {point} -I {dir}"),
    ] {
        let output = run(&command);
        assert_eq!((status(&output), stdout(&output), stderr(&output)), Default::default());
    }
}

#[test]
fn mistakes_are_plain_lines_with_status_1() {
    let folder = Folder::new();
    let file = folder.file("bad.proto", "edition = \"2023\";\nmessage M { Poin p = 0; }\n");
    folder.file("point.proto", &POINT.replace("Point", "Poin"));
    for verb in ["check", "proto check --schema"] {
        let output = run(&format!("{verb} {file}"));
        assert_eq!((status(&output), stdout(&output)), (1, String::new()));
        let text = stderr(&output);
        assert!(text.contains(&format!("{file}:2:13: error[unknown-name]: ")), "{text}");
        assert!(text.contains("help: `point.proto` declares it"), "{text}");
    }
    let output = run("proto check --schema no-such-file.proto no-such-file.fds");
    assert_eq!(status(&output), 1);
    let text = stderr(&output);
    assert!(text.contains("no-such-file.proto:1:1: error[file-unreadable]"), "{text}");
    assert!(text.contains("no-such-file.fds:1:1: error[file-unreadable]"), "{text}");
    std::fs::write(&file, b"\n\x80").unwrap();
    let output = run(&format!("proto check --schema {file}"));
    let text = stderr(&output);
    assert!(text.contains("the file cannot be read: it is no UTF-8 text"), "{text}");
    assert_eq!(status(&run("proto check")), 2);
    assert_eq!(status(&run("proto")), 2);
}

#[test]
fn sets_of_descriptors_are_schemas() {
    let folder = Folder::new();
    // file { name: "a.proto" message_type { name: "A" } }
    let set = "\n\x0e\n\x07a.proto\"\x03\n\x01A";
    let good = folder.file("good.fds", set);
    assert_eq!(status(&run(&format!("proto check --schema {good}"))), 0);
    let import = "syntax = \"proto3\";\nimport \"a.proto\";\nmessage B { A a = 1; }\n";
    let text = folder.file("b.proto", import);
    assert_eq!(status(&run(&format!("proto check --schema {good} {text}"))), 0);
    let bad = folder.file("bad.fds", "\n\x0e\n");
    let output = run(&format!("check {bad}"));
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).starts_with(&format!("{bad}:1:1: error[descriptor]")));
}

#[test]
fn rules_and_schemas_are_checked_together() {
    let folder = Folder::new();
    let (rules, schema) = (folder.file("a.olg", PING), folder.file("a.proto", POINT));
    assert_eq!(status(&run(&format!("check {rules} {schema}"))), 0);
    let bad = folder.file("b.olg", "r1 a(@X, Y) :- b(@X).\n");
    assert_eq!(status(&run(&format!("check {bad} {schema}"))), 1);
}
