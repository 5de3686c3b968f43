//! Console sessions in the README, the book and the pages of the examples show the actual output:
//! each `$` line of a block marked `console` runs, from the root, and must be followed by its
//! standard output. `BLESS=1` rewrites the pages.

use std::path::Path;
use std::process::Command;

use tidemill_support::golden::Golden;

use crate::common::{all_pages, root};

/// The shell output of a command, with the program under test as `tidemill`.
fn output_of(command: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_tidemill")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .current_dir(root())
        .env("PATH", path)
        .args(["-c", command])
        .output()
        .expect("a shell");
    String::from_utf8(output.stdout).expect("text")
}

/// The page with the actual output after each command.
fn rewritten(page: &str) -> (String, usize) {
    let (mut result, mut commands) = (String::new(), 0);
    let mut in_session = false;
    for line in page.lines() {
        let fence = line.starts_with("```");
        if fence {
            in_session = line == "```console";
        }
        let command = line.strip_prefix("$ ").filter(|_| in_session);
        if fence || command.is_some() || !in_session {
            result.push_str(line);
            result.push('\n');
        }
        if let Some(command) = command {
            commands += 1;
            result.push_str(&output_of(command));
        }
    }
    (result, commands)
}

#[test]
fn sessions_are_true() {
    let all = all_pages();
    let mut commands = 0;
    let mut golden = Golden::default();
    for page in &all {
        let text = std::fs::read_to_string(page).expect("a page");
        let (now, found) = rewritten(&text);
        commands += found;
        golden.check(page, now);
    }
    assert!(commands > 5, "only {commands} commands found");
}
