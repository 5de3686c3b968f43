//! The sessions in the README, the book and the pages of the examples are what the program prints:
//! each `$` line of a block marked `console` runs, from the root, and what follows it must be its
//! standard output. `BLESS=1` rewrites the pages.

use std::path::Path;
use std::process::Command;

use tidemill_support::golden::Golden;

use crate::common::{all_pages, root};

/// What a shell prints for a command, `tidemill` being the program under test.
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

/// The page with the true output behind each command.
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
