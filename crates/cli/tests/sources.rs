//! Verbs on sources: check, fmt, explain, schema.

use crate::common::{Folder, PING, run, status, stderr, stdout};

#[test]
fn a_right_program_is_checked_in_silence() {
    let folder = Folder::new();
    let file = folder.file("ping.OLG", PING);
    let output = run(&format!("check {file}"));
    assert_eq!((status(&output), stdout(&output), stderr(&output)), Default::default());
}

#[test]
fn several_files_are_one_program() {
    let folder = Folder::new();
    let tables = folder.file("tables.olg", "materialize(succ, infinity, 1, keys(1)).\n");
    let rules = folder.file("rules.olg", "r1 far(@X, Y) :- ask(@X), succ(@X, Y).\n");
    assert_eq!(status(&run(&format!("check {tables} {rules}"))), 0);
    // Without the table it is an event, and there are two.
    assert_eq!(status(&run(&format!("check {rules}"))), 1);
}

#[test]
fn mistakes_in_sources_are_plain_lines_with_status_1() {
    let folder = Folder::new();
    let file = folder.file("bad.olg", "r1 a(@X, Ü) :- b(@X).\nr2 c(@X, Y) :- d(@X), e(@X, Y).\n");
    for verb in ["check", "explain", "schema", "sim", "run"] {
        let output = run(&format!("{verb} {file}"));
        assert_eq!(status(&output), 1, "{verb}");
        assert_eq!(stdout(&output), "", "{verb}");
        let text = stderr(&output);
        assert!(text.starts_with(&format!("{file}:1:")), "{verb}: {text}");
        assert!(text.contains(": error["), "{verb}: {text}");
    }
}

#[test]
fn several_errors_are_reported_at_once() {
    let folder = Folder::new();
    let file = folder.file("bad.olg", "r1 a(@X, Y) :- b(@X).\nr2 c(@X, Z) :- d(@X).\n");
    let output = run(&format!("check {file}"));
    let text = stderr(&output);
    assert!(text.contains(&format!("{file}:1:10: error[unbound-variable]")), "{text}");
    assert!(text.contains(&format!("{file}:2:10: error[unbound-variable]")), "{text}");
}

#[test]
fn diagnostics_show_the_source_in_colour_on_request() {
    let folder = Folder::new();
    let file = folder.file("bad.olg", "r1 a(@X, Y) :- b(@X).\n");
    let text = stderr(&run(&format!("check {file} --color always")));
    assert!(text.contains("\u{1b}[") && text.contains("unbound-variable"), "{text}");
}

#[test]
fn kinds_of_files_follow_from_their_endings() {
    let folder = Folder::new();
    let text = folder.file("a.txt", "");
    let flow = folder.file("a.flow", "");
    let output = run(&format!("check {text} {flow} missing.olg"));
    assert_eq!(status(&output), 1);
    let errors = stderr(&output);
    assert!(errors.contains("a.txt:1:1: error[file-kind]"), "{errors}");
    assert!(errors.contains("a.flow:1:1: warning[empty-graph]"), "{errors}");
    assert!(errors.contains("missing.olg:1:1: error[file-unreadable]"), "{errors}");
}

#[test]
fn macros_and_includes_come_from_the_command_line() {
    let folder = Folder::new();
    folder.file("tables.olg", "materialize(t, infinity, 1, keys(1)).\n");
    let file = folder.file("main.olg", "#include \"tables.olg\"\nt(NODE, SIZE).\n");
    std::fs::create_dir(folder.path().join("sub")).expect("a folder");
    let elsewhere = folder.file("sub/main.olg", "#include \"tables.olg\"\nt(NODE, SIZE).\n");
    assert_eq!(status(&run(&format!("check {file} -D SIZE=5"))), 0);
    assert_eq!(status(&run(&format!("check {file}"))), 1);
    assert_eq!(status(&run(&format!("check {elsewhere} -D SIZE=5"))), 1);
    let dir = folder.path().display();
    assert_eq!(status(&run(&format!("check {elsewhere} -D SIZE=5 -I {dir}"))), 0);
}

#[test]
fn fmt_rewrites_once_and_then_has_nothing_to_do() {
    let folder = Folder::new();
    let file = folder.file("ugly.olg", "r1   a(@X,Y):-b(@X , Y),\n Y>1 . // kept\n");
    let check = run(&format!("fmt --check {file}"));
    assert_eq!((status(&check), stdout(&check)), (1, String::new()));
    assert!(stderr(&check).contains("ugly.olg is not in the common layout"));
    assert_eq!(status(&run(&format!("fmt {file}"))), 0);
    let text = std::fs::read_to_string(&file).expect("the file");
    assert!(text.contains("r1 a(@X, Y) :- b(@X, Y), Y > 1. // kept"), "{text}");
    assert_eq!(status(&run(&format!("fmt --check {file}"))), 0);
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn fmt_knows_components() {
    let folder = Folder::new();
    let file = folder.file("Ugly.Com", "COMPONENT A;BEGIN(* kept *)x:=1 END A;\n");
    let check = run(&format!("fmt --check {file}"));
    assert_eq!((status(&check), stdout(&check)), (1, String::new()));
    assert_eq!(status(&run(&format!("fmt {file}"))), 0);
    let text = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(text, "COMPONENT A;\nBEGIN (* kept *)\n  x := 1\nEND A;\n");
    assert_eq!(status(&run(&format!("fmt --check {file}"))), 0);
    let wrong = folder.file("wrong.cl", "COMPONENT A; BEGIN x = 1 END A;\n");
    let output = run(&format!("fmt {wrong}"));
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("equal-for-assign"), "{}", stderr(&output));
}

#[test]
fn explain_prints_tree_plan_and_graph_in_order() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let text = stdout(&run(&format!("explain {file}")));
    let places = ["(materialize pongs", "\nrelation p0 ", "\nevent ping\n"]
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part} in {text}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(text.contains("timer p1\n  starts rule p1\n"), "{text}");
}

#[test]
fn explain_draws_the_graph_in_three_languages() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let form = |form| stdout(&run(&format!("explain {file} --form {form}")));
    assert!(form("dot").starts_with("digraph "));
    assert!(form("mermaid").starts_with("flowchart "));
    let svg = form("svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains(">pongs<"));
    let warned = run(&format!("explain {file} --form dot --type T"));
    assert_eq!(status(&warned), 2);
    assert!(stderr(&warned).contains("--type has no effect here"), "{}", stderr(&warned));
}

#[test]
fn explain_lists_the_code_of_rules() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let output = run(&format!("explain {file} --asm"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("rules::"), "{text}");
    assert!(text.contains(" bytes\n  pushq %rbp") || cfg!(not(target_arch = "x86_64")), "{text}");
}

#[test]
fn schema_prints_a_proto_file() {
    let folder = Folder::new();
    let file = folder.file("my-ping.olg", PING);
    let text = stdout(&run(&format!("schema {file}")));
    assert!(text.starts_with("syntax = \"proto3\";"), "{text}");
    assert!(text.contains("package my_ping;") && text.contains("message pong {"), "{text}");
}
