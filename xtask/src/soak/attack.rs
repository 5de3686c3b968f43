//! Processes of the command under attack: a node under a flood, and a fleet that loses members.

use std::path::Path;
use std::process::Command;

use super::command::{Options, succeed};

/// A node with a key and one without, each for the given time under 100,000 datagrams a second.
pub fn flood(root: &Path, options: &Options<'_>) -> Result<(), String> {
    run(root, options, "flood::")
}

/// Five nodes with a key that are killed, stopped and started again while a sixth process attacks.
pub fn fleet(root: &Path, options: &Options<'_>) -> Result<(), String> {
    run(root, options, "fleet::")
}

fn run(root: &Path, options: &Options<'_>, tests: &str) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.current_dir(root);
    command.args(["test", "--release", "-p", "tidemill-cli", "--test", "it", tests]);
    command.args(["--", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env("SOAK_SECONDS", options.seconds.to_string());
    succeed(&mut command, "what was seen is above")
}
