//! `why`: running nodes say how a tuple came to be.

use std::process::Output;

use crate::common::node::{Running, wait_until};
use crate::common::{Folder, status, stderr, stdout, tidemill};

const RULES: &str = "\
    materialize(neighbour, infinity, infinity, keys(1, 2)).\n\
    materialize(path, infinity, infinity, keys(1, 2)).\n\
    trace(path).\n\
    trace(hello).\n\
    n1 neighbour(@N, L) :- periodic(@N, _, 0, 1), NODE_INDEX > 0, L := LANDMARK.\n\
    h1 hello(@L, N) :- periodic(@N, _, 0.2), neighbour(@N, L).\n\
    h2 path(@L, N, 1) :- hello(@L, N).\n";

fn why(folder: &Folder, address: &str, tuple: &str) -> Output {
    let mut command = tidemill();
    command.env("XDG_RUNTIME_DIR", folder.path()).args(["why", address, tuple]);
    command.output().expect("it starts")
}

/// Each node is a process of its own, which is asked for what it has done.
#[test]
fn a_tuple_is_followed_to_the_node_that_it_came_from() {
    let folder = Folder::new();
    let file = folder.file("path.olg", RULES);
    let run = Running::start(&folder, "paths", &[&file, "--nodes", "2"]);
    let addresses = run.addresses(2);
    let [first, second] = &addresses[..] else { panic!("{addresses:?}") };
    let path = format!("path(\"{first}\", \"{second}\", 1)");
    wait_until("a path", || status(&why(&folder, first, &path)) == 0);
    let text = stdout(&why(&folder, first, &path));
    let lines: Vec<&str> = text.lines().collect();
    let hello = format!("└─ hello(\"{first}\", \"{second}\")  from {second}, by h1 at ");
    assert!(lines[0].starts_with(&format!("{path}  by h2 at ")), "{text}");
    assert!(lines[1].starts_with(&hello), "{text}");
    let neighbour = format!("neighbour(\"{second}\", \"{first}\")  given");
    assert!(lines[2..].iter().any(|line| line.ends_with(&neighbour)), "{text}");
    assert!(lines[2..].iter().any(|line| line.ends_with("  timer")), "{text}");
    assert_eq!(lines.len(), 4, "{text}");
}

#[test]
fn what_is_not_recorded_is_said_so() {
    let folder = Folder::new();
    let traced = folder.file("path.olg", RULES);
    let plain = folder.file("plain.olg", "r1 a(@N) :- periodic(@N, _, 1).\n");
    for (file, reason) in [(traced, "nothing is recorded"), (plain, "sys::ruleExec")] {
        let run = Running::start(&folder, "run", &[&file, "--nodes", "1"]);
        let addresses = run.addresses(1);
        let output = why(&folder, &addresses[0], "path(\"x:1\", 1)");
        assert_eq!(status(&output), 1);
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
    let wrong = why(&folder, "localhost:1", "path(1");
    assert!(stderr(&wrong).contains("this is no tuple"), "{}", stderr(&wrong));
}
