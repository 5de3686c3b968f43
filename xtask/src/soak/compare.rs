//! Random programs of rules against plain evaluators, from seeds that no earlier run has used: on
//! one node and several, with soft state, loss, duplication, reordering and crashes.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::command::{Options, succeed};

pub fn run(root: &Path, options: &Options<'_>) -> Result<(), String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
    // A second covers fewer programs than this.
    let from = since.as_secs() * 1_000_000;
    println!("compare: programs from seed {from} on, for {} s", options.seconds);
    let mut command = Command::new("cargo");
    command.current_dir(root);
    command.args(["test", "--release", "-p", "tidemill-overlog", "--test", "it", "plain::"]);
    command.env("FROM", from.to_string()).env("SECONDS", options.seconds.to_string());
    succeed(&mut command, "the seed and the smallest program that differs are above")
}
